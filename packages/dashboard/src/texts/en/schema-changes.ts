/** Texts of indexes, of the search, of the definition as JSON, of its problems, and of the review of changes. */
import { count } from "./count.ts";

export const indexes = {
  intro:
    "An index finds and sorts records by its fields, in their order. Each index takes space and is written with every record.",
  list: "Indexes",
  add: "Add index",
  none: "Only the indexes that the service makes.",
  of: (n: number) => `Index ${n}`,
  unique: "Unique together",
  uniqueHint: "No two records have the same values in all of its fields",
  addField: (n: number) => `Add a field to index ${n}`,
  addFieldPlaceholder: "Add a field",
  removeField: (name: string, n: number) => `Remove ${name} from index ${n}`,
  moveField: (name: string, n: number) => `Move ${name} in index ${n}`,
  remove: (n: number) => `Remove index ${n}`,
  nothingLeft: "No other field can be added",
  implicit: "Made by the service",
  implicitBody: "These exist without asking.",
  becauseId: "every record has a value",
  becauseUnique: "unique field",
  becauseRelation: "relation",
  becauseMultiple: "several values",
  becauseOwner: "reading is by owner",
  owner: "owner",
};

export const search = {
  title: "Search",
  body: "The words of these fields are found by the search over the records, and by `?search=`. Each field takes space and is written with every record.",
  fields: "Searched fields",
  none: "No field is searched",
  noTexts: "No other field of type string or text",
};

export const trash = {
  title: "Deleted records",
  body: "For this time, a deleted record stays in the trash and can be restored: “30d”, “12h”. Without a time, a deletion is final.",
  time: "Time in the trash",
  none: "no trash",
};

export const json = {
  label: "Definition as JSON",
  intro: "The definition as in the file in `collections/`. Changes here change the form.",
  invalid: "This text is not a valid definition yet. The form keeps its last state.",
  reset: "Take the form's definition",
  notObject: "A definition is a JSON object.",
  unknownKey: (key: string) => `A definition has no "${key}".`,
  view: "A view is made by a file of collections/, or by POST /api/admin/collections.",
  noName: `A definition needs a "name", a string.`,
  nameFixed: (name: string) => `The name is "${name}" here; "Rename…" in the menu of the page changes the name.`,
  noFields: `A definition needs "fields", an array.`,
  fieldNotObject: "A field is an object.",
  fieldName: `A field needs a "name", a string.`,
  type: (types: string) => `A field needs a "type": ${types}.`,
  forms: {
    unique: (key: string) => `"${key}" is true, false or "nocase".`,
    format: (key: string) => `"${key}" is email, url or markdown.`,
    metric: (key: string) => `"${key}" is cosine or l2.`,
    boolean: (key: string) => `"${key}" is true or false.`,
    number: (key: string) => `"${key}" is a number.`,
    string: (key: string) => `"${key}" is a string.`,
    collection: (key: string) => `"${key}" is a string.`,
    onDelete: (key: string) => `"${key}" is restrict, cascade or clear.`,
    values: (key: string) => `"${key}" is an array of texts.`,
    scope: (key: string) => `"${key}" is true, or an array of names of fields.`,
    rules: (key: string) => `"${key}" of a field is an object with rules, which are texts.`,
    any: (key: string) => `"${key}" is any value.`,
    formerName: (key: string) => `"${key}" is a string.`,
    formerType: (key: string) => `"${key}" is integer.`,
  },
  permissions: `"permissions" is an object.`,
  operation: (names: string) => `The operations are ${names}.`,
  rule: "A rule is public, authenticated, owner, admin or an expression.",
  indexes: `"indexes" is an array.`,
  index: `An index is an array of names of fields, or an object with "fields".`,
  search: `"search" is an array of names of fields.`,
  history: `"history" is an object with the rule "read".`,
  trash: `"trash" is a time such as "30d".`,
};

export const problems = {
  noName: "A name is needed.",
  nameStart: "A name begins with a letter.",
  nameLong: "A name has at most 63 characters.",
  namePattern: "Only letters, digits and _",
  reserved: (name: string) => `"${name}" is reserved for the service.`,
  collectionTaken: (name: string) => `A collection is called "${name}" already.`,
  systemField: (name: string) => `Every record has "${name}" already.`,
  droppedName: (name: string) => `"${name}" is about to be dropped. Apply that first, or restore the field.`,
  typeChange: (from: string, to: string) =>
    `The type cannot change from ${from} to ${to}. Add a field with another name.`,
  twin: (name: string) => `Two fields are called "${name}".`,
  caseTwin: (name: string, twin: string) => `"${name}" and "${twin}" differ only in case.`,
  noNumber: "This is no number.",
  length: "A length is a whole number from 0.",
  minOverMax: "The smallest is greater than the largest.",
  lookaround: "Lookaround is not possible: patterns run in linear time.",
  backreference: "Backreferences are not possible: patterns run in linear time.",
  regex: (reason: string) => `This is no regular expression: ${reason}`,
  noDefault: {
    string: "The default is a value of the list.",
    text: "The default is a text.",
    integer: "The default is a whole number.",
    float: "The default is a number.",
    boolean: "The default is true or false.",
    datetime: "The default is @now, a date, or a time such as 2026-03-01T09:30:00Z.",
    json: "The default is JSON other than null.",
    relation: "The default is @user.id.",
    file: "A file has no default.",
    geo: 'The default is a place such as { "lat": 52.52, "lon": 13.405 }.',
    vector: "The default is an array of numbers.",
  },
  dimensions: (most: number) => `A vector has 1 to ${most} numbers.`,
  unknownScope: (name: string) => `No field is called "${name}", to count by.`,
  clearRequired: "A required field cannot be cleared.",
  sameDefault: "Every record would have the same value, and the field is unique.",
  manyValues: (n: number) => `At most ${n} values are possible.`,
  longValue: (n: number) => `A value has at most ${n} characters.`,
  valueTwice: (value: string) => `"${value}" is repeated.`,
  noTarget: "Choose the target collection.",
  unknownTarget: (name: string) => `No collection is called "${name}".`,
  oneOwner: "Another field shows the owner already.",
  manyFields: (n: number) => `At most ${n} fields are possible.`,
  manyIndexes: (n: number) => `At most ${n} indexes are possible.`,
  emptyIndex: "An index needs a field.",
  longIndex: (n: number) => `An index has at most ${n} fields.`,
  indexTwice: (name: string) => `"${name}" is named twice.`,
  indexUnknown: (name: string) => `No field is called "${name}".`,
  indexDropped: (name: string) => `"${name}" will be dropped. Remove the field here, too.`,
  indexJson: (name: string) => `"${name}" is JSON, which cannot be indexed.`,
  indexPlace: (name: string) => `"${name}" is a place, which is in no unique index.`,
  indexMultiple: (name: string) => `"${name}" has several values, which an index of records cannot hold.`,
  items: (n: number) => `From 1 to ${n} items are possible.`,
  noDefaultItems: "The default needs an item, and only items that the field may have.",
  indexTwin: "Another index has the same fields.",
  manySearched: (n: number) => `At most ${n} fields can be searched.`,
  noWords: (name: string) => `"${name}" is no single string or text: only strings and texts have words.`,
};

export const plan = {
  title: (name: string) => `Review changes to ${name}`,
  intro: (records: number) =>
    `The collection has ${count(records, "record")}. Either all steps are applied, or no step.`,
  nothing: "Nothing would change.",
  apply: "Apply changes",
  applyLoss: "Apply, and drop values",
  applying: "The changes are being applied. Large collections take a while; reads go on meanwhile.",
  lossTitle: (values: number) => `${count(values, "value")} will be dropped`,
  lossBody: "Dropped values can be restored until dropped.keep is over (30 days, unless configured).",
  refusedTitle: "The records do not allow this",
  refusedBody: "Nothing was changed. Change the records or the draft, and review again.",
  invalidTitle: "The service refuses this definition",
  showRecords: (n: number, hasMore: boolean) =>
    hasMore ? `Show the first ${n} in the grid` : `Show ${count(n, "record")} in the grid`,
  showRecord: (id: string) => `Show record ${id}`,
  tones: { add: "Added", change: "Changed", drop: "Dropped", loss: "Values dropped" },
  create: (name: string) => `Create collection \`${name}\``,
  delete: (name: string, records: number) => `Delete collection \`${name}\` with ${count(records, "record")}`,
  add: (field: string, type: string) => `Add field \`${field}\` (${type})`,
  getNull: (records: number) => `${count(records, "record")} ${records === 1 ? "gets" : "get"} null`,
  drop: (field: string) => `Drop field \`${field}\``,
  dropLoss: (field: string, records: number) =>
    `Drop field \`${field}\`: ${count(records, "record")} ${records === 1 ? "has a value" : "have a value"}`,
  noLoss: "No record has a value in it",
  ownersStay: "The owners of the records stay, hidden",
  rename: (from: string, to: string) => `Rename field \`${from}\` to \`${to}\``,
  renameCollection: (from: string, to: string) =>
    `Rename collection \`${from}\` to \`${to}\`: the paths of its API change`,
  follow: (field: string, from: string, to: string) =>
    `Let \`${field}\` point to \`${to}\`, as \`${from}\` is called then`,
  keepValues: (records: number) =>
    `${count(records, "record")} keep the values`.replace(/^1 record keep/, "1 record keeps"),
  require: (field: string) => `Require a value in \`${field}\``,
  unique: (field: string) => `Make \`${field}\` unique`,
  uniqueInAnyCase: (field: string) => `Make \`${field}\` unique without regard to case`,
  notUnique: (field: string) => `Let \`${field}\` have equal values`,
  owner: (field: string) => `Show the owner in \`${field}\``,
  notOwner: (field: string) => `Show the owner in \`${field}\` no longer`,
  retarget: (field: string, from: string, to: string) => `Let \`${field}\` point to \`${to}\` instead of \`${from}\``,
  rules: (field: string) => `Change the rules of \`${field}\``,
  fieldRules: (field: string) => `Change the readers or writers of \`${field}\``,
  multiple: (field: string) => `Let \`${field}\` hold several items; a value becomes the only item`,
  notMultiple: (field: string) => `Let \`${field}\` hold a single value, its only item`,
  type: (field: string, from: string, to: string) => `Change the type of \`${field}\` from ${from} to ${to}`,
  sequence: (field: string) => `Number the records by \`${field}\``,
  noSequence: (field: string) => `Number the records by \`${field}\` no longer`,
  numbered: (records: number) =>
    records === 1
      ? "1 record without a number gets a number"
      : `${records.toLocaleString()} records without a number get a number`,
  onDelete: (field: string) => `Change the effect of a deletion on records by \`${field}\``,
  default: (field: string) => `Change the default of \`${field}\``,
  onlyNew: "For new records alone",
  getDefault: (records: number, value: string) =>
    `${count(records, "record")} ${records === 1 ? "gets" : "get"} ${value}`,
  renamedValue: (from: string, to: string, records: number) =>
    `${from} becomes ${to} in ${count(records, "record")}, and in the rules`,
  steps: "Steps",
  inIndex: (names: readonly string[]) => `The index on ${names.join(", ")} follows`,
  inSequence: (field: string) => `The sequence of ${field} follows`,
  inSearch: "The search follows",
  follows: (name: string) => `Collection ${name} follows`,
  codeTitle: (files: number) =>
    `${count(files, "file")} of code ${files === 1 ? "has" : "have"} the old name as a word`,
  codeBody: "The service changes no code: change these files yourself. A word may mean something else.",
  codeLines: (lines: readonly number[]) => `${lines.length === 1 ? "line" : "lines"} ${lines.join(", ")}`,
  values: (field: string) => `Change the values of \`${field}\``,
  changed: (what: string, from: string | number | undefined, to: string | number | undefined) =>
    `${what}: ${from ?? "none"} → ${to ?? "none"}`,
  mayBeEmpty: "The field may be empty",
  checked: (records: number) => `${count(records, "record")} checked`,
  concerns: (records: number) => `Concerns ${count(records, "record")}`,
  index: (fields: string[], unique: boolean) =>
    `Add ${unique ? "unique index" : "index"} on ${fields.map((field) => `\`${field}\``).join(", ")}`,
  noIndex: (fields: string[]) => `Remove index on ${fields.map((field) => `\`${field}\``).join(", ")}`,
  search: (fields: string[]) =>
    fields.length === 0
      ? "Search no field any more"
      : `Search the words of ${fields.map((field) => `\`${field}\``).join(", ")}`,
  permissions: "Change the permissions",
  query: "The query, or the fields of the query, change",
  trash: (time: string | undefined) =>
    time === undefined ? "Deletions are final from now on" : `Keep deleted records in the trash for ${time}`,
  order: "Write the definition in another order",
};

export const renaming = {
  title: (name: string) => `Rename ${name}`,
  body: "Records, relations and rules follow. The old path responds with 404, and functions stay in the folder of the old name until you rename the folder.",
  name: "New name",
  done: (from: string, to: string) => `Collection ${from} is ${to} now`,
};

const restorable =
  "Until `dropped.keep` is over (30 days, unless configured), `socle schema restore` brings the values back.";

export const deletion = {
  title: (name: string) => `Delete ${name}`,
  records: (records: number) =>
    `${count(records, "record")} and the definition go to the dropped values. ${restorable}`,
  users: (records: number) =>
    `The fields of ${count(records, "user")} go to the dropped values; the accounts stay. ${restorable}`,
  noRecords: "The collection is empty.",
  pointersTitle: "Other collections point to this collection",
  pointersBody: "Remove these fields, or let the fields point elsewhere, first:",
  done: (name: string) => `Collection ${name} was deleted`,
};
