/** Users of other services: additions with id, times and links, and later runs, which bring the accounts up to date. */
import type { User } from "@socle/protocol";
import { type Clock, system } from "../../base/kernel/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import { isForeignHash } from "./foreign-hash-table.ts";
import { findLink, insertLink, type LinkRow, linksOf } from "./providers/provider-table.ts";
import { passwordHashOf, setPasswordHash } from "./user-table.ts";
import type { MovedUser, Users } from "./users.ts";

/** A link to an account at a provider. */
export type MovedLink = Pick<LinkRow, "issuer" | "subject" | "provider">;

export class MovedUsers {
  readonly #users: Users;
  readonly #clock: Clock;

  constructor(users: Users, clock: Clock) {
    this.#users = users;
    this.#clock = clock;
  }

  /**
   * Adds a user, or brings the account of a user who was added before up to date: the email, the proof, the links that the user
   * lacks, and the password while the user has not signed in here. @throws AppError as `Users.add`.
   */
  moveIn(tx: Transactor, values: MovedUser, links: readonly MovedLink[]): User {
    const { id, verifiedAt } = values.moved;
    const before = this.#users.find(id, tx);
    const user =
      before === null
        ? this.#users.add(tx, { ...values, role: "authenticated" }, system)
        : this.#follow(tx, before, values);
    // The first proof has removed the links that somebody else may have made.
    if (before?.verified !== true || verifiedAt !== null) this.#link(tx, id, links);
    return user;
  }

  #follow(tx: Transactor, before: User, { email, passwordHash, moved: { id, verifiedAt } }: MovedUser): User {
    const known = passwordHashOf(tx, id);
    if (isForeignHash(known) && known !== passwordHash) setPasswordHash(tx, id, passwordHash);
    // A proof that the user has made here is of the address of this time.
    const verified = verifiedAt !== null || (before.verified === true && before.email === email);
    if (before.email === email && before.verified === verified) return before;
    return this.#users.change(tx, { user: before, email, verified }, system);
  }

  #link(tx: Transactor, userId: string, links: readonly MovedLink[]): void {
    for (const link of links) {
      const isTaken =
        findLink(tx, link) !== null || linksOf(tx, userId).some(({ provider }) => provider === link.provider);
      if (!isTaken) insertLink(tx, { ...link, userId, email: null, createdAt: this.#clock.now() });
    }
  }
}
