/** The collections of an export with their new names: which collection, which field and which id becomes what. */
import { type FieldDefinition, USERS } from "@socle/protocol";
import { collectionNameFor, fieldNameFor, timeNamed } from "../names.ts";
import { movedId } from "../source.ts";
import { accountsTable, type ExportedCollection, type FirebaseExport } from "./export.ts";
import { Shape } from "./typed.ts";

/** The most fields that are derived from documents; keys beyond are data. */
const maxFields = 450;

export interface MovedField {
  /** The old name; "" for the parent, the user of a profile, and a whole document. */
  readonly from: string;
  /** The new name: `createdAt` and `updatedAt` for the fields that become these times. */
  readonly to: string;
  readonly part: "field" | "parent" | "profile" | "document";
  readonly type: FieldDefinition["type"];
  /** The largest number of items of a multiple field; 0 for a single value. */
  readonly items: number;
  readonly target: MovedCollection | null;
  /** Null for a part that is no field of the documents. */
  readonly shape: Shape | null;
}

/** A collection whose documents become records; the users, with the documents that users have. */
export class MovedCollection {
  readonly to: string;
  /** Null for users without documents. */
  readonly documents: ExportedCollection | null;
  fields: readonly MovedField[] = [];
  /** Fields of bytes. */
  left: readonly string[] = [];

  constructor(to: string, documents: ExportedCollection | null) {
    this.to = to;
    this.documents = documents;
  }

  get isUsers(): boolean {
    return this.to === USERS;
  }

  get from(): string {
    return this.documents?.names ?? USERS;
  }

  idFor(key: string): string {
    return this.isUsers ? movedId("usr", `users.json/${key}`, 0) : movedId("rec", `${this.from}/${key}`, 0);
  }
}

export class FirebaseWorld {
  readonly source: FirebaseExport;
  readonly users: MovedCollection;
  /** Users first. */
  readonly collections: readonly MovedCollection[];
  readonly #names = new Set<string>();

  constructor(source: FirebaseExport) {
    this.source = source;
    const all = [...source.collections.values()];
    const ofUsers = all.filter(({ names, documents, ofUsers: n }) => !names.includes("/") && n * 2 >= documents);
    // The documents of several collections may be of users.
    const own =
      ofUsers.find(({ names }) => names.toLowerCase() === USERS) ?? (ofUsers.length === 1 ? ofUsers[0] : undefined);
    this.users = new MovedCollection(USERS, own ?? null);
    const others = all.filter((each) => each !== own);
    this.collections = [
      this.users,
      ...others.map(
        (each) => new MovedCollection(collectionNameFor(each.names.replaceAll("/", "_"), this.#names), each),
      ),
    ];
    for (const each of this.collections) this.#place(each);
  }

  /** A name for a further collection. */
  nameFor(name: string): string {
    return collectionNameFor(name, this.#names);
  }

  named(names: string): MovedCollection | undefined {
    return this.collections.find(({ documents }) => documents?.names === names);
  }

  has({ isUsers, documents }: MovedCollection, key: string): boolean {
    return (isUsers && this.source.uids.has(key)) || (documents !== null && this.source.rows.has(documents.id, key));
  }

  /** The new id for a text that is an id as Firebase makes ids; null for another text. */
  idOf(text: string): string | null {
    if (this.source.isUserId(text)) return this.users.idFor(text);
    if (!/^[A-Za-z0-9]{20}$/.test(text)) return null;
    const id = this.source.rows.tableOf(text);
    return this.collections.find(({ documents }) => documents?.id === id && id !== accountsTable)?.idFor(text) ?? null;
  }

  #place(placed: MovedCollection): void {
    const { documents, to } = placed;
    if (documents === null) return;
    const shapes = new Map<string, Shape>();
    for (const { cells } of this.source.rows.rows(documents.id))
      for (const [name, value] of Object.entries(JSON.parse(cells[1] ?? "{}")))
        shapes.getOrInsertComputed(name, () => new Shape()).add(value, (text) => this.source.isUserId(text));
    const taken = new Set<string>();
    const part = { from: "", items: 0, shape: null } as const;
    const fields: MovedField[] = [];
    const parent = this.named(documents.names.split("/").slice(0, -1).join("/"));
    if (parent !== undefined)
      fields.push({ ...part, part: "parent", to: fieldNameFor("parent", to, taken), type: "relation", target: parent });
    else if (!placed.isUsers && documents.ofUsers === documents.documents)
      fields.push({
        ...part,
        part: "profile",
        to: fieldNameFor("user", to, taken),
        type: "relation",
        target: this.users,
      });
    if (shapes.size > maxFields)
      fields.push({ ...part, part: "document", to: fieldNameFor("data", to, taken), type: "json", target: null });
    else for (const [name, shape] of shapes) if (!isBytes(shape)) fields.push(this.#field(name, shape, { to, taken }));
    placed.fields = fields;
    placed.left =
      shapes.size > maxFields ? [] : [...shapes].filter(([, shape]) => isBytes(shape)).map(([name]) => name);
  }

  #field(from: string, shape: Shape, { to, taken }: { to: string; taken: Set<string> }): MovedField {
    const form = this.#formOf(shape);
    const time = form.type === "datetime" ? timeNamed(from) : undefined;
    const isFree = time !== undefined && !taken.has(time);
    if (isFree) taken.add(time);
    return { from, part: "field", shape, ...form, to: isFree ? time : fieldNameFor(from, to, taken) };
  }

  #formOf(shape: Shape): Pick<MovedField, "type" | "items" | "target"> {
    const [kind, ...others] = shape.kinds;
    const form = (type: FieldDefinition["type"], target: MovedCollection | null = null) => ({ type, items: 0, target });
    if (others.length > 0)
      return form(others.length === 1 && shape.kinds.has("integer") && shape.kinds.has("float") ? "float" : "json");
    switch (kind) {
      case "boolean":
      case "integer":
      case "float":
        return form(kind);
      case "time":
        return form("datetime");
      case "place":
        return form("geo");
      case "reference":
      case "text": {
        const [target] = shape.targets.size === 1 ? shape.targets : [];
        const placed = shape.ofUsers === "all" ? this.users : this.named(target ?? "");
        if (placed !== undefined) return form("relation", placed);
        return form(shape.isLong ? "text" : "string");
      }
      case "array": {
        const items = shape.isSet && shape.items !== null ? this.#formOf(shape.items) : null;
        if (items === null || items.type === "json") return form("json");
        return { ...items, type: items.type === "relation" ? "relation" : "string", items: shape.mostItems };
      }
      default:
        return form("json");
    }
  }
}

function isBytes({ kinds }: Shape): boolean {
  return kinds.size === 1 && kinds.has("bytes");
}
