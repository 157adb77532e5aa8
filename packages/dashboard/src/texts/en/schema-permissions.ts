/** Texts of the rules of a collection, of the trial of rules as a given user, and of the effect of rules before saving. */
import { count } from "./count.ts";

export const permissions = {
  caption: "The rule of each operation",
  operation: "Operation",
  operations: { read: "Read", create: "Create", update: "Update", delete: "Delete" },
  rules: { public: "Public", authenticated: "Authenticated", owner: "Owner", admin: "Admin" },
  ruleHints: {
    public: "Anybody, without signing in",
    authenticated: "Every signed-in user",
    owner: "The user who created the record; for Create, every signed-in user",
    admin: "Admins only. Admins may do everything anyway.",
  },
  inherit: "Not set",
  inheritDefault: "Not set (public)",
  inheritHint:
    "Read is then public, and Create takes the rule of Read. Update and Delete need the rule above and the rule of Read; in place of every signed-in user, both are for the owner.",
  choice: (operation: string, rule: string) => `${operation}: ${rule}`,
  origins: {
    read: "Same as Read",
    others: "By the rules above, because no rule is set",
    default: "Public, because no rule is set",
  },
  custom: "By an expression.",
  expression: "Expression",
  expressionHint: "A condition on the record and the caller, in the language of filters",
  expressionOf: (operation: string) => `Expression of ${operation}`,
  expressionPlaceholder: 'author = @user.id || members(team)[user = @user.id && role != "guest"]',
  emptyRule: "An expression is missing. Choose a word, or write a condition.",
  isWord: (word: string) => `“${word}” alone is the word, and no field. Go on, or choose the word above.`,
  lookedAt: {
    read: "Checked for each record. A record that fails the expression is in no list, and 404 by its id.",
    create:
      "Checked for the new record, with the other records unchanged. A record that fails the expression is refused (403).",
    update: "Checked before and after the change, so that no record leaves the part that the caller may change (403).",
    delete: "Checked for the present record. A record that fails the expression stays (403).",
  },
  sentences: {
    read: {
      public: "Anyone may read all records.",
      authenticated: "Only signed-in users may read records.",
      owner: "Users may read only their own records.",
      admin: "Only admins may read records.",
    },
    create: {
      public: "Anyone may create records.",
      authenticated: "Only signed-in users may create records.",
      owner: "Only signed-in users may create records; each user owns the created records.",
      admin: "Only admins may create records.",
    },
    update: {
      public: "Anyone may change any record.",
      authenticated: "Every signed-in user may change any record.",
      owner: "Users may change only their own records.",
      admin: "Only admins may change records.",
    },
    delete: {
      public: "Anyone may delete any record.",
      authenticated: "Every signed-in user may delete any record.",
      owner: "Users may delete only their own records.",
      admin: "Only admins may delete records.",
    },
  },
  risksTitle: "Open to the internet",
  risks: {
    read: "Everybody on the internet may read the records.",
    create: "Everybody on the internet may create records, without an account.",
    update: "Everybody on the internet may change every record, without an account.",
    delete: "Everybody on the internet may delete every record, without an account.",
  },
  riskNoOwner:
    "A record that is created without signing in has no owner: under rules by owner, the record is for admins.",
};

export const trial = {
  title: "Try as",
  intro:
    "See the response that another caller would get. Nothing is changed, no event is published and no function runs.",
  unsaved: "The stored rules are tried, without your changes.",
  as: "User",
  nobody: "An anonymous caller",
  operation: "Request",
  attempts: {
    list: "Read the list",
    read: "Read a record",
    create: "Create a record",
    update: "Change a record",
    delete: "Delete a record",
  },
  record: "Record",
  body: "Body",
  run: "Try",
  noRecord: "Choose a record.",
  noObject: "The body must be a JSON object.",
  allowed: "Allowed",
  refused: "Refused",
  answer: "Answer",
  records: (n: number) => (n === 1 ? "1 record of the first page" : `${n} records of the first page`),
  ruleOf: (operation: string, moment: string) => `Rule of ${operation}, ${moment}`,
  moments: { before: "on the present record", after: "on the record after the change" },
  allows: "allows",
  refuses: "refuses",
  bypassed: "No rule holds an admin back.",
  kinds: { and: "all of these", or: "any of these", not: "not this" },
  some: (path: string) => `some of ${path} fulfils all of these`,
  every: (path: string) => `each of ${path} fulfils all of these`,
  outcomes: { yes: "true", no: "false", unknown: "unknown: a value is missing" },
};

export const effect = {
  title: "Effect of this change",
  intro:
    "The records that users may read, change and delete, now and with your changes: for 20 users, for an anonymous caller, and for a chosen user. Nothing is saved.",
  run: "Show the effect",
  further: "Also for",
  noFurther: "no further user",
  cut: (looked: number, records: number) =>
    `Only the newest ${count(looked, "record")} of ${records.toLocaleString()} were counted, and callers may be missing: counting all takes too long.`,
  unjudged: (operation: string, reason: string) => `${operation} cannot be counted before saving: ${reason}.`,
  of: (title: string) => `Effect on ${title}`,
  rows: (title: string) => `Callers for whom ${title} changes`,
  field: (name: string) => `Field ${name}`,
  gain: (n: number) => `${count(n, "caller")} ${n === 1 ? "gains" : "gain"}`,
  lose: (n: number) => `${count(n, "caller")} ${n === 1 ? "loses" : "lose"}`,
  caller: "Caller",
  before: "Before",
  after: "After",
  gained: "Gained",
  lost: "Lost",
  rest: (n: number) => `and ${n.toLocaleString()} more`,
  record: (end: string) => `Record ending in ${end}`,
  same: (n: number) => `No change for ${count(n, "caller")}.`,
  reaches: { all: "all records", some: "some records", none: "no record" },
  reach: (before: string, after: string) => `${before} → ${after}`,
  callers: (names: readonly string[]) => (names.length > 3 ? count(names.length, "caller") : names.join(", ")),
};
