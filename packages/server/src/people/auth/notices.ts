/** Notices: mails that tell a user of a change of credentials, with the address and the browser of the caller. */
import type { User } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { AppError, BucketsOfRate } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import type { Mails } from "../mail/index.ts";
import { mailFor, type PasswordCaller, userAgentOf } from "./passwords.ts";

/** A change of credentials. */
export interface CredentialChange {
  /** A plain sentence: "The password was changed." */
  readonly change: string;
  /** The caller who made the change; or the admin or the code of the service, whom the user cannot tell by an address. */
  readonly by: PasswordCaller | "an administrator" | "the service";
}

/** An address, or the network of an IPv6 address. A proxy that is set up wrongly can pass any text as an address. */
const address = /^[0-9a-f.:/]{1,50}$/;

/** Signs of browsers, with the names for people; the signs of a browser stand in the names of later browsers. */
const browsers = [
  [/\bEdg(e|A|iOS)?\//, "Edge"],
  [/\b(OPR|Opera)\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|CriOS)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
] as const;

const systems = [
  [/\b(iPhone|iPad)\b/, "iOS"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\b(Macintosh|Mac OS X)\b/, "macOS"],
  [/\b(Linux|CrOS)\b/, "Linux"],
] as const;

interface NoticesOptions {
  readonly mails: Mails;
  readonly logger: Logger;
  readonly config: Pick<Config, "limits.rate.recipient">;
}

export class Notices {
  readonly #options: NoticesOptions;
  /** Notices to an address. */
  readonly #recipients: BucketsOfRate;

  constructor(options: NoticesOptions) {
    this.#options = options;
    this.#recipients = new BucketsOfRate(() => options.config["limits.rate.recipient"]);
  }

  /**
   * Mails a notice to the address of a user, in the transaction of the change. Without mail, there is no notice. A full outbox
   * leaves the notice out with a line of the log, so that nobody can prevent a change by filling the outbox; and so do many
   * notices to the address, so that nobody fills the mailbox of a stranger by changes of an own account.
   * @param user as before the change: a new address does not hide the change from the owner of the former address.
   */
  tell(tx: Transactor, user: Pick<User, "id" | "email">, { change, by }: CredentialChange): void {
    const { mails, logger } = this.#options;
    const { email: to } = user;
    if (!mails.isOn || to === null) return;
    const origin = typeof by === "string" ? by : originOf(by);
    const caller = typeof by === "string" ? {} : mailFor(by);
    const leaveOut = (reason: string): void =>
      tx.onDurable(() => logger.often(`A notice was left out: ${reason}`, { userId: user.id, change }));
    if ((this.#recipients.now?.take(to, performance.now()) ?? 0) > 0) {
      leaveOut("too many notices go to the address");
      return;
    }
    try {
      mails.add(tx, { kind: "notice", to, values: { change, origin }, ...caller });
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.limit !== "mails") throw thrown;
      leaveOut("the outbox is full");
    }
  }
}

/**
 * "192.0.2.1, Firefox on Windows". A caller chooses the `User-Agent`, so the mail has only known names: a thief cannot write
 * to the user through a notice.
 */
function originOf(caller: PasswordCaller): string {
  const text = userAgentOf(caller) ?? "";
  const nameIn = (signs: typeof browsers | typeof systems): string | undefined =>
    signs.find(([sign]) => sign.test(text))?.[1];
  const place = address.test(caller.key) ? caller.key : "an unknown address";
  const system = nameIn(systems);
  return `${place}, ${nameIn(browsers) ?? "an unknown program"}${system === undefined ? "" : ` on ${system}`}`;
}
