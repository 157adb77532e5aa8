/** DefinitionBuilder for the collections of PocketBase: fields, indexes and rules, with findings on all that differs. */
import {
  type CollectionDefinition,
  type FieldDefinition,
  type FieldOperation,
  type IndexDefinition,
  type Permissions,
  USERS,
} from "@socle/protocol";
import { count } from "../../../base/kernel/index.ts";
import { compilePattern } from "../../../data/fields/index.ts";
import { areValues, isIndexable } from "../names.ts";
import { type ReportFinding, sourceIdField } from "../source.ts";
import { callerFields, RuleTranslator, type TranslatedRule } from "./rules.ts";
import { type DataFolder, type PbField, type RuleName, ruleNames } from "./sql/data-folder.ts";
import { isMultiple, type NewField, type PlacedCollection, type World } from "./world.ts";

const types: Readonly<Record<string, FieldDefinition["type"]>> = {
  ...{ text: "string", email: "string", url: "string", select: "string", editor: "text", bool: "boolean" },
  ...{ date: "datetime", autodate: "datetime", json: "json", geoPoint: "geo", relation: "relation", file: "file" },
};

/** The field that names the auth collection of a user, beside several auth collections. */
export const sourceCollection = "sourceCollection";

export interface BuiltDefinition {
  readonly definition: CollectionDefinition;
  readonly comments: readonly string[];
  /** The field that shows the owner, by the name in PocketBase. */
  readonly owner: string | null;
}

export class DefinitionBuilder {
  readonly #world: World;
  readonly #folder: DataFolder;
  readonly #report: ReportFinding;

  constructor(world: World, folder: DataFolder, report: ReportFinding) {
    this.#world = world;
    this.#folder = folder;
    this.#report = report;
  }

  /** @param collections the collection, or the auth collections that become `users`. */
  build(collections: readonly PlacedCollection[]): BuiltDefinition {
    const [first] = collections;
    if (first === undefined) throw new Error("A definition is of a collection");
    const owner = first.isUsers ? null : this.#ownerOf(first);
    const fields = new Map<string, FieldDefinition>();
    for (const collection of collections)
      for (const placed of collection.fields) {
        const field = this.#field(collection, placed, owner);
        if (field === null) continue;
        const before = fields.get(field.name);
        fields.set(field.name, before === undefined ? field : shared(before, field));
      }
    const indexes = collections.flatMap((each) => this.#indexes(each, fields));
    const rules = collections.map((each) => this.#rules(each, owner));
    for (const { to, operation, rule } of rules.flatMap(({ locks }) => locks)) {
      const field = fields.get(to);
      // A hidden field is for admins in any case.
      if (field !== undefined && field.permissions?.read !== "admin")
        field.permissions = { ...field.permissions, [operation]: rule };
    }
    if (first.isUsers && collections.length > 1) this.#loosen(collections, fields);
    const definition: CollectionDefinition = {
      name: first.to,
      fields: [...(first.isUsers ? accountFields(collections) : []), ...fields.values(), sourceIdField],
      permissions: first.isUsers ? usersRules(collections, rules) : (rules[0]?.permissions ?? {}),
      ...(indexes.length > 0 && { indexes }),
    };
    return { definition, comments: rules.flatMap(({ comments }) => comments), owner };
  }

  /** A relation to users that the create rule demands to be the caller. */
  #ownerOf(collection: PlacedCollection): string | null {
    const demanded = callerFields(collection.pb.createRule);
    const found = collection.fields.find(
      ({ pb }) =>
        demanded.includes(pb.name) &&
        pb.type === "relation" &&
        !isMultiple(pb) &&
        this.#world.byId(pb.collectionId)?.isUsers,
    );
    return found?.pb.name ?? null;
  }

  #field(collection: PlacedCollection, { pb, to }: NewField, owner: string | null): FieldDefinition | null {
    if (to === "createdAt" || to === "updatedAt") return null;
    const tell = (text: string): void => this.#report("other", `${collection.pb.name}.${pb.name}: ${text}`);
    const isMany = isMultiple(pb);
    const type = pb.type === "number" ? (pb.onlyInt === true ? "integer" : "float") : (types[pb.type] ?? "string");
    const field: FieldDefinition = { name: to, type };
    if (to !== pb.name) tell(`is named ${to}: Socle keeps the name for itself, or refuses the name`);
    if (pb.required === true) field.required = true;
    if (isMany) Object.assign(field, { multiple: true, max: Math.min(1_000, pb.maxSelect ?? 1) });
    if (pb.type === "text" || pb.type === "number") {
      if (typeof pb.min === "number" && (pb.type === "number" || pb.min > 0)) field.min = pb.min;
      if (typeof pb.max === "number" && (pb.type === "number" || pb.max > 0)) field.max = pb.max;
      if (pb.pattern && isPattern(pb.pattern)) field.regex = pb.pattern;
      else if (pb.pattern) tell(`the pattern ${pb.pattern} does not run in linear time: check texts by a hook`);
    }
    if (pb.type === "bool" && pb.required !== true) field.default = false;
    if (pb.type === "number" && (field.min ?? 0) <= 0 && (field.max ?? 0) >= 0) field.default = 0;
    if (pb.type === "select" && areValues(pb.values)) field.values = [...pb.values];
    else if (pb.type === "select") tell("has values that Socle does not list: any text is allowed");
    if (pb.type === "relation")
      this.#relation(field, { pb, isOfUsers: collection.isUsers, isOwner: pb.name === owner }, tell);
    if (pb.type === "email" || pb.type === "url") field.format = pb.type;
    if (pb.hidden === true) field.permissions = { read: "admin" };
    if (pb.type === "date" && (pb.min || pb.max))
      tell("has bounds of dates, which a beforeCreate and a beforeUpdate hook can check");
    if (pb.type === "autodate") tell("is set once more by nobody: a beforeUpdate hook can set the time");
    if (pb.exceptDomains?.length || pb.onlyDomains?.length) tell("has rules of domains, which a hook can check");
    if (pb.mimeTypes?.length) tell("takes some types of files alone, which a hook can check");
    return field;
  }

  #relation(
    field: FieldDefinition,
    { pb, isOfUsers, isOwner }: { pb: PbField; isOfUsers: boolean; isOwner: boolean },
    tell: (text: string) => void,
  ): void {
    field.collection = this.#world.byId(pb.collectionId)?.to ?? USERS;
    if (isOwner) {
      field.owner = true;
      tell(
        "shows the owner of the record, because the create rule demands the caller; only an admin changes the field",
      );
    }
    const isCascade = pb.cascadeDelete === true && !isMultiple(pb) && !isOfUsers;
    field.onDelete = isCascade ? "cascade" : pb.required === true ? "restrict" : "clear";
    if (pb.cascadeDelete === true && !isCascade)
      tell(`a deletion of the target is "${field.onDelete}" here, not "cascade"`);
  }

  #indexes(collection: PlacedCollection, fields: Map<string, FieldDefinition>): IndexDefinition[] {
    const indexes: IndexDefinition[] = [];
    for (const sql of collection.pb.indexes) {
      const found = /^\s*CREATE\s+(UNIQUE\s+)?INDEX\s+\S+\s+ON\s+\S+\s*\((.*)\)\s*(?:WHERE\s+(.*))?$/is.exec(sql);
      const [, unique, columns = "", where] = found ?? [];
      const parts = columns
        .split(",")
        .map((each) => /^\s*[`"[]?(\w+)[`"\]]?(\s+COLLATE\s+NOCASE)?(?:\s+(?:ASC|DESC))?\s*$/i.exec(each));
      const names = parts.map((part) => collection.field(part?.[1] ?? "")?.to ?? "");
      // The email and the token of an account.
      if (collection.isUsers && parts.some((part) => ["email", "tokenKey"].includes(part?.[1] ?? ""))) continue;
      const isWhereFilled = where === undefined || /^[`"[]?\w+[`"\]]?\s*(!=|<>)\s*''\s*$/.test(where);
      const tell = (text: string): void => this.#report("other", `${collection.pb.name}: ${sql}: ${text}`);
      if (found === null || !isIndexable(names, fields) || !isWhereFilled) {
        tell("has no counterpart: a unique index needs a hook, another one is only for speed");
        continue;
      }
      const [only] = names;
      const field = names.length === 1 ? fields.get(only ?? "") : undefined;
      const isNocase = parts.some((part) => part?.[2] !== undefined);
      const isText = field?.type === "string" || field?.type === "text";
      if (isNocase && (unique === undefined || !isText)) tell("heeds case here");
      if (unique !== undefined && field !== undefined) {
        field.unique = isNocase && isText ? "nocase" : true;
        delete field.default;
      } else {
        if (unique !== undefined) tell("does not compare records with an empty value in one of the fields");
        indexes.push(unique === undefined ? names : { fields: names, unique: true });
      }
    }
    return indexes;
  }

  #rules(collection: PlacedCollection, owner: string | null): CollectionRules {
    const translator = new RuleTranslator(this.#world, collection, owner);
    const { pb } = collection;
    const rules = ruleNames.map((name) => [name, translator.translate(name)]);
    const translated: Readonly<Record<RuleName, TranslatedRule>> = Object.fromEntries(rules);
    const { listRule, viewRule, createRule, updateRule, deleteRule } = translated;
    const isOne = pb.listRule === pb.viewRule;
    const told = ruleNames.filter((name) => name !== "viewRule" || !isOne);
    const comments = told.flatMap((name) => this.#tellRule(collection, name, translated[name]));
    const files = collection.fields.filter(
      ({ pb: { type, protected: isProtected } }) => type === "file" && isProtected,
    );
    if (!isOne) {
      const text =
        "Socle reads lists and single records by one rule, made of the list rule, and protected files by the view rule";
      this.#report("closed", `${pb.name}: ${text}; records that the view rule alone shows are closed`);
    }
    const shownBy = viewRule.rule;
    const guarded =
      isOne || shownBy === "public" ? [] : files.map(({ to }) => ({ to, operation: "read" as const, rule: shownBy }));
    const permissions = {
      read: listRule.rule,
      create: createRule.rule,
      update: updateRule.rule,
      delete: deleteRule.rule,
    };
    const locks = [...new Set([...updateRule.locked, ...createRule.locked])].map((to) => {
      const isNever = pb.createRule === null || createRule.locked.includes(to);
      // The times are equal until the first change, so the value can be set once.
      return { to, operation: "update" as const, rule: isNever ? "admin" : "createdAt = updatedAt" };
    });
    return { permissions, comments, locks: [...guarded, ...locks] };
  }

  #tellRule({ pb }: PlacedCollection, name: RuleName, { rule, closed, leaks }: TranslatedRule): string[] {
    if (closed.length > 0) this.#report("closed", `${pb.name}.${name}: ${closed.join("; ")}`);
    for (const { path, steps, field } of leaks) {
      const rows = this.#folder.emptyAt(pb.name, steps, field);
      if (rows > 0 || name === "createRule")
        this.#report(
          "leak",
          `${pb.name}.${name}: the empty id of a caller without a token equals an empty ${path}${name === "createRule" ? ", so anybody creates such records" : `: ${count(rows, "record")}`}`,
        );
    }
    if (closed.length === 0) return [];
    return [`${pb.name}.${name}: ${pb[name] ?? ""}`, ...closed.map((each) => `  left out: ${each}`), `  now: ${rule}`];
  }

  /** Fields of an auth collection are empty for the users of the other auth collections. */
  #loosen(collections: readonly PlacedCollection[], fields: Map<string, FieldDefinition>): void {
    for (const field of fields.values()) {
      const isOfAll = collections.every((each) => each.fields.some(({ to }) => to === field.name));
      if (isOfAll || field.required !== true) continue;
      delete field.required;
      if (field.onDelete === "restrict") field.onDelete = "clear";
      this.#report("other", `users.${field.name}: is not required, because some auth collections lack the field`);
    }
  }
}

function isPattern(text: string): boolean {
  try {
    compilePattern(text);
    return true;
  } catch {
    return false;
  }
}

interface CollectionRules {
  readonly permissions: Record<"read" | "create" | "update" | "delete", string>;
  readonly comments: readonly string[];
  /** Fields with a rule. */
  readonly locks: readonly { readonly to: string; readonly operation: FieldOperation; readonly rule: string }[];
}

/** A field of two auth collections has the rules that are equal in both. */
function shared(one: FieldDefinition, other: FieldDefinition): FieldDefinition {
  const entries = Object.entries(one).filter(([key, value]) => {
    const isKept = ["name", "type", "multiple", "collection", "permissions", "onDelete"].includes(key);
    return isKept || JSON.stringify(value) === JSON.stringify(Reflect.get(other, key));
  });
  const field: FieldDefinition = { ...one, ...other };
  for (const key of Object.keys(field)) if (!entries.some(([kept]) => kept === key)) Reflect.deleteProperty(field, key);
  if (other.permissions?.read === "admin") field.permissions = { read: "admin" };
  return field;
}

function accountFields(collections: readonly PlacedCollection[]): FieldDefinition[] {
  const values = collections.map(({ pb }) => pb.name);
  const named: FieldDefinition = { name: sourceCollection, type: "string", values, permissions: { update: "admin" } };
  return [
    // The definition of `users` says who reads the fields of accounts.
    { name: "email", permissions: { read: "id = @user.id || emailVisibility = true" } },
    { name: "verified", permissions: { read: "public" } },
    ...(collections.length > 1 ? [named] : []),
  ] as FieldDefinition[];
}

/** The rules of users: the rules of each auth collection, for the users of the collection. New users have no collection, and count as users of the first. */
function usersRules(collections: readonly PlacedCollection[], rules: readonly CollectionRules[]): Permissions {
  const ofOperation = (operation: "read" | "update"): string => {
    const parts = collections.map(({ pb }, i) => {
      const rule = rules[i]?.permissions[operation] ?? "admin";
      if (rule === "admin" || collections.length === 1) return rule;
      const others = collections.slice(1).map(({ pb: each }) => `${sourceCollection} != ${JSON.stringify(each.name)}`);
      const isOf = i === 0 ? others.join(" && ") : `${sourceCollection} = ${JSON.stringify(pb.name)}`;
      return rule === "public" ? isOf : `${isOf} && ${rule === "authenticated" ? "@user.id != null" : `(${rule})`}`;
    });
    const open = parts.filter((part) => part !== "admin");
    return open.length < 2 ? (open[0] ?? "admin") : open.map((part) => `(${part})`).join(" || ");
  };
  return { read: ofOperation("read"), update: ofOperation("update") };
}
