/** Users of PocketBase in the neutral form, with the `authRule` that may refuse a user to sign in. */
import type { OldUser } from "../accounts.ts";
import type { ReportFinding } from "../source.ts";
import { parseFilter } from "./filter.ts";
import type { DataFolder, PbRow } from "./sql/data-folder.ts";
import { timeOf } from "./values.ts";
import type { PlacedCollection, World } from "./world.ts";

export class PbUsers {
  readonly #folder: DataFolder;
  readonly #collections: readonly PlacedCollection[];
  readonly #refuses: ReadonlyMap<PlacedCollection, (row: PbRow) => boolean>;

  constructor(folder: DataFolder, { users }: World, report: ReportFinding) {
    this.#folder = folder;
    this.#collections = users;
    this.#refuses = new Map(users.map((each) => [each, refusalOf(each, report)]));
  }

  *all(): Iterable<OldUser> {
    for (const collection of this.#collections)
      for (const row of this.#folder.rows(collection.pb.name)) yield this.of(row, collection);
  }

  of(row: PbRow, collection: PlacedCollection): OldUser {
    const { pb } = collection;
    const id = String(row["id"]);
    const isRefused = this.#refuses.get(collection)?.(row) === true;
    const since = timeOf(String(row["updated"])) ?? timeOf(pb.created) ?? new Date(0).toISOString();
    return {
      ...{ id, name: `${pb.name}/${id}`, email: String(row["email"] ?? "") },
      ...{ verifiedAt: row["verified"] ? since : null, passwordHash: String(row["password"] ?? "") },
      links: this.#folder.links(pb.id, id),
      closed: isRefused ? "Users whom the authRule refuses, and who move without a password" : null,
      lines: [],
    };
  }
}

/** Whether the `authRule` refuses a user to sign in. A rule that is more than truth values of the user refuses everybody. */
function refusalOf({ pb }: PlacedCollection, report: ReportFinding): (row: PbRow) => boolean {
  const rule = pb.options["authRule"];
  if (rule === "") return () => false;
  if (typeof rule !== "string") return () => true;
  report(
    "other",
    `${pb.name}.authRule: ${rule}: users whom the rule refuses now move without a password; for later, write a beforeLogin hook`,
  );
  const node = parseFilter(rule);
  const parts = "and" in node ? node.and : [node];
  return (row) =>
    !parts.every((part) => {
      if (!("left" in part) || part.operator !== "=" || !/^(true|false)$/.test(part.right.text)) return false;
      return part.left.text in row && Boolean(row[part.left.text]) === (part.right.text === "true");
    });
}
