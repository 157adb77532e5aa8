/** The reader of PocketBase: a data folder becomes a `MoveSource`. */
import { count, isObject } from "../../../base/kernel/index.ts";
import { Accounts } from "../accounts.ts";
import type { Choices, MovedRow, MoveFinding, MoveSource, MoveTable } from "../source.ts";
import { timesOf } from "../values.ts";
import { PbUsers } from "./accounts.ts";
import { DefinitionBuilder, sourceCollection } from "./definitions.ts";
import { DataFolder, type PbRow } from "./sql/data-folder.ts";
import { RowValues, timeOf } from "./values.ts";
import { type PlacedCollection, World } from "./world.ts";

interface PocketBaseOptions {
  readonly choices: Choices;
  /** A folder for a copy of the database. */
  readonly work: string;
  readonly anyVersion: boolean;
}

/** @throws SetupError for a folder that cannot be moved. The caller disposes of the source. */
export async function readPocketBase(path: string, options: PocketBaseOptions): Promise<MoveSource & Disposable> {
  const folder = await DataFolder.open(path, options);
  try {
    return { ...new Reader(folder, options.choices).source(), [Symbol.dispose]: () => folder.close() };
  } catch (thrown) {
    folder.close();
    throw thrown;
  }
}

class Reader {
  readonly #folder: DataFolder;
  readonly #world: World;
  readonly #values: RowValues;
  readonly #findings: MoveFinding[] = [];
  readonly #users: PbUsers;
  readonly #accounts: Accounts;
  readonly #now = new Date().toISOString();
  readonly #report = (kind: MoveFinding["kind"], text: string): void => void this.#findings.push({ kind, text });

  constructor(folder: DataFolder, choices: Choices) {
    this.#folder = folder;
    this.#world = new World(folder.collections);
    this.#values = new RowValues(folder, this.#world, choices);
    this.#users = new PbUsers(folder, this.#world, this.#report);
    this.#accounts = new Accounts(this.#users.all(), { choices, report: this.#report });
  }

  source(): MoveSource {
    const { users, collections } = this.#world;
    const groups = [
      ...(users.length > 0 ? [users] : []),
      ...collections.filter(({ isUsers }) => !isUsers).map((each) => [each]),
    ];
    const definitions = new DefinitionBuilder(this.#world, this.#folder, this.#report);
    const tables = groups.map((group) => this.#table(group, definitions));
    this.#tellRest();
    return { label: "PocketBase", tables, findings: this.#findings, size: this.#folder.size };
  }

  #table(group: readonly PlacedCollection[], definitions: DefinitionBuilder): MoveTable {
    const { definition, comments, owner } = definitions.build(group);
    const folder = this.#folder;
    const read = (collection: PlacedCollection, row: PbRow): MovedRow => this.#row(row, { collection, group, owner });
    return {
      from: group.map(({ pb }) => pb.name).join(" and "),
      definition,
      comments,
      count: group.reduce((sum, { pb }) => sum + folder.count(pb.name), 0),
      *rows() {
        for (const collection of group) for (const row of folder.rows(collection.pb.name)) yield read(collection, row);
      },
      has: (sourceId) => {
        const [, name, id = sourceId] = /^(.+)\/(.+)$/.exec(sourceId) ?? [];
        return group.some(({ pb }) => (name === undefined || pb.name === name) && folder.has(pb.name, id));
      },
    };
  }

  #row(
    row: PbRow,
    {
      collection,
      group,
      owner,
    }: { collection: PlacedCollection; group: readonly PlacedCollection[]; owner: string | null },
  ): MovedRow {
    const { pb } = collection;
    const values = this.#values;
    const id = String(row["id"]);
    const at = (time: string): string | null => {
      const field = collection.fields.find(({ to }) => to === time);
      return field === undefined ? null : timeOf(String(row[field.pb.name]));
    };
    const otherwise = timeOf(pb.created) ?? this.#now;
    // An earlier auth collection may have a user of the same id.
    const isTwice = group.slice(0, group.indexOf(collection)).some((each) => this.#folder.has(each.pb.name, id));
    const sourceId = isTwice ? `${pb.name}/${id}` : id;
    const own = collection.isUsers && group.length > 1 ? { [sourceCollection]: pb.name } : {};
    const holder = this.#world.byId(owner === null ? undefined : collection.field(owner)?.pb.collectionId);
    const ownerId = owner === null ? "" : String(row[owner] ?? "");
    return {
      sourceId,
      id: collection.idFor(id),
      ...timesOf({ created: at("createdAt"), updated: at("updatedAt") }, { now: this.#now, otherwise }),
      values: (definition, note) => ({ ...values.of(row, { collection, definition, note }), ...own, sourceId }),
      files: () => values.filesOf(row, collection),
      account: collection.isUsers ? this.#accounts.of(this.#users.of(row, collection)) : null,
      owner: collection.isUsers
        ? collection.idFor(id)
        : holder === undefined || ownerId === ""
          ? null
          : holder.idFor(ownerId),
      address: `/api/collections/${pb.name}/records/${id}`,
    };
  }

  /** Findings on all that is neither a field, a rule nor a row. */
  #tellRest(): void {
    const report = this.#report;
    for (const { name, options } of this.#world.views)
      report(
        "left",
        `The view ${name}: write a server query (queries/${name}.ts) with the SQL: ${String(options["viewQuery"])}`,
      );
    for (const { pb } of this.#world.users) {
      const { mfa, otp, manageRule, oauth2, passwordAuth } = pb.options;
      const isOn = (part: unknown): part is Record<string, unknown> => isObject(part) && part["enabled"] === true;
      if (isOn(mfa))
        report(
          "other",
          `${pb.name}: asks for a second factor by mail (${mfa["rule"] || "all users"}), and Socle asks users with an authenticator app or a passkey alone: ask these users to add one`,
        );
      if (isOn(otp)) report("other", `${pb.name}: codes by mail: set auth.codes to true, and configure mail`);
      if (manageRule) report("closed", `${pb.name}.manageRule: ${String(manageRule)}: admins alone manage accounts`);
      const names = isObject(passwordAuth) ? passwordAuth["identityFields"] : null;
      if (Array.isArray(names) && names.some((name) => name !== "email"))
        report("other", `${pb.name}: users sign in by ${names.join(" or ")}, and in Socle by email alone`);
      if (isOn(oauth2) && Array.isArray(oauth2["providers"]))
        for (const { name, clientId } of oauth2["providers"])
          report(
            "other",
            `${pb.name}: the provider ${name} (client ${clientId}): add the provider to auth.providers, with the secret`,
          );
      if (pb.createRule === null)
        report("other", `${pb.name}: nobody registers: set auth.registration to false if that holds for all users`);
      else if (pb.createRule !== "")
        report(
          "other",
          `${pb.name}.createRule: ${pb.createRule}: a registration has no rule; write a beforeRegister hook for more than fields that are locked`,
        );
      if (pb.deleteRule !== null)
        report(
          "other",
          `${pb.name}.deleteRule: ${pb.deleteRule}: users delete their own account alone (DELETE /api/auth/me)`,
        );
    }
    const admins = this.#folder.count("_superusers");
    report("left", `${count(admins, "superuser")}: make an admin with socle admin create EMAIL`);
    report(
      "left",
      "Sessions, codes under way, API rate limits, mail templates, settings of SMTP and S3, hooks and logs: users sign in anew; see docs/configuration.md",
    );
  }
}
