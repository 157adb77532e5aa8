/** Schemas of the admin API: collections, migrations, trials, users, mails, logs, configuration, backups and the overview. */
import {
  type BackupEntry,
  type ChangedDefinition,
  type ClusterInstance,
  type ClusterOverview,
  type CollectionDefinition,
  type CollectionEntry,
  type ConfigEntry,
  type DroppedEntry,
  type EffectiveConfig,
  FIELD_TYPES,
  type FieldDefinition,
  type FieldPermissions,
  type FileUse,
  LOG_LEVELS,
  type LogEntry,
  MAIL_STATUSES,
  type MailDetail,
  type MailEntry,
  type MailSettings,
  type MailTest,
  type MigrationPlan,
  type MigrationStep,
  NAME_PATTERN,
  ON_DELETE,
  OPERATIONS,
  type Overview,
  type Permissions,
  type RequestMinute,
  type RestoredValues,
  type RulePart,
  type RuleTrial,
  type RuleTrialRequest,
  type TriedRule,
  type UserEntry,
} from "@socle/protocol";
import {
  about,
  anything,
  arrayOf,
  boolean,
  count,
  enumOf,
  freeObject,
  integer,
  mapOf,
  number,
  objectOf,
  optional,
  orNull,
  ref,
  type Schema,
  string,
  time,
} from "../schema.ts";
import { user } from "./accounts.ts";

const name: Schema = { type: "string", pattern: NAME_PATTERN.source };
const rule = about(string, "public, authenticated, owner, admin, or an expression of the filter language.");
const operation = enumOf(OPERATIONS);

const field = {
  name: name,
  type: enumOf(FIELD_TYPES),
  required: optional(boolean),
  min: optional(number),
  max: optional(number),
  regex: optional(string),
  unique: optional(boolean),
  collection: optional(string),
  onDelete: optional(enumOf(ON_DELETE)),
  anyTarget: optional(boolean),
  owner: optional(boolean),
  values: optional(arrayOf(string)),
  multiple: optional(boolean),
  sequence: optional({ anyOf: [{ type: "boolean", const: true }, arrayOf(string)] }),
  default: optional(anything),
  permissions: optional(objectOf<FieldPermissions>({ read: optional(rule), update: optional(rule) })),
};

const index: Schema = {
  anyOf: [
    arrayOf(string),
    { type: "object", properties: { fields: arrayOf(string), unique: boolean }, required: ["fields"] },
  ],
};

const permissions = objectOf<Permissions>({
  read: optional(rule),
  create: optional(rule),
  update: optional(rule),
  delete: optional(rule),
});

const changedValue: Schema = {
  anyOf: [string, { type: "object", properties: { name: string, renamedFrom: orNull(string) }, required: ["name"] }],
};

const collections: { readonly [name: string]: Schema } = {
  FieldDefinition: objectOf<FieldDefinition>(field),
  CollectionDefinition: objectOf<CollectionDefinition>({
    name,
    fields: arrayOf(ref("FieldDefinition")),
    permissions: optional(permissions),
    indexes: optional(arrayOf(index)),
    search: optional(arrayOf(string)),
  }),
  ChangedDefinition: objectOf<Partial<ChangedDefinition>>({
    name: optional(name),
    renamedFrom: optional(string),
    fields: optional(
      arrayOf(
        objectOf<ChangedDefinition["fields"][number]>({
          ...field,
          values: optional(arrayOf(changedValue)),
          renamedFrom: optional(orNull(string)),
          convertedFrom: optional(enumOf(["integer"])),
        }),
      ),
    ),
    permissions: optional(orNull(permissions)),
    indexes: optional(orNull(arrayOf(index))),
    search: optional(orNull(arrayOf(string))),
  }),
  CollectionEntry: objectOf<CollectionEntry>({
    name,
    fields: arrayOf(ref("FieldDefinition")),
    permissions: orNull(permissions),
    indexes: arrayOf(index),
    definition: ref("CollectionDefinition"),
    createdAt: time,
    updatedAt: time,
    records: count,
    renamed: optional({ type: "object", properties: { from: string, to: string }, required: ["from", "to"] }),
    restorable: optional(arrayOf(ref("DroppedEntry"))),
  }),
  DroppedEntry: objectOf<DroppedEntry>({
    id: string,
    collection: name,
    field: orNull(string),
    at: time,
    cause: enumOf(["file", "PUT", "DELETE", "schema.json"]),
    values: count,
  }),
  RestoredValues: objectOf<RestoredValues>({ restored: count, left: count }),
  Schema: {
    type: "object",
    properties: { collections: arrayOf(ref("CollectionDefinition")) },
    required: ["collections"],
  },
  ChangedSchema: {
    type: "object",
    properties: { collections: arrayOf(ref("ChangedDefinition")) },
    required: ["collections"],
  },
  MigrationStep: objectOf<MigrationStep>({
    step: string,
    field: optional(string),
    fields: optional(arrayOf(string)),
    unique: optional(boolean),
    from: optional(string),
    to: optional(string),
    renamed: optional(arrayOf({ type: "object", properties: { from: string, to: string } })),
    rules: optional(arrayOf({ type: "object", properties: { operation: string, from: rule, to: rule } })),
    default: optional(anything),
    on: optional(boolean),
    records: count,
  }),
  MigrationPlan: objectOf<MigrationPlan>({
    collection: string,
    action: enumOf(["create", "update", "delete"]),
    steps: arrayOf(ref("MigrationStep")),
    records: count,
  }),
  MigrationPlans: {
    type: "object",
    properties: { changes: arrayOf(ref("MigrationPlan")) },
    required: ["changes"],
  },
};

const trials: { readonly [name: string]: Schema } = {
  RuleTrialRequest: objectOf<RuleTrialRequest>({
    as: orNull(string),
    operation,
    id: optional(string),
    body: optional(freeObject),
    query: optional(mapOf({ anyOf: [string, number] })),
  }),
  RulePart: objectOf<RulePart>({
    kind: enumOf(["and", "or", "not", "some", "every", "comparison"]),
    start: count,
    end: count,
    holds: orNull(boolean),
    parts: arrayOf(ref("RulePart")),
  }),
  TriedRule: objectOf<TriedRule>({
    operation,
    moment: enumOf(["before", "after"]),
    rule,
    holds: boolean,
    parts: orNull(ref("RulePart")),
  }),
  RuleTrial: objectOf<RuleTrial>({
    as: orNull(ref("User")),
    operation,
    allowed: boolean,
    status: integer,
    error: orNull(freeObject),
    answer: anything,
    rules: arrayOf(ref("TriedRule")),
  }),
};

const mail = {
  id: string,
  kind: string,
  to: string,
  subject: string,
  status: enumOf(MAIL_STATUSES),
  createdAt: time,
  attempts: count,
  dueAt: orNull(time),
  endedAt: orNull(time),
  error: orNull(string),
};

const operating: { readonly [name: string]: Schema } = {
  RequestMinute: objectOf<RequestMinute>({
    minute: time,
    requests: count,
    clientErrors: count,
    errors: count,
    p50: orNull(number),
    p99: orNull(number),
  }),
  Overview: objectOf<Overview>({
    version: string,
    startedAt: time,
    uptime: number,
    residentMemory: count,
    database: objectOf<Overview["database"]>({ size: count, walSize: count }),
    storage: objectOf<Overview["storage"]>({ files: count, size: count }),
    collections: arrayOf(objectOf<Overview["collections"][number]>({ name: string, records: count })),
    requests: arrayOf(ref("RequestMinute")),
    sockets: count,
    deliveries: objectOf<Overview["deliveries"]>({ waiting: count, running: count, failed: count }),
    failedRuns: objectOf<Overview["failedRuns"]>({ functions: count, jobs: count, queues: count }),
    users: count,
    dropped: count,
    cluster: orNull(ref("ClusterOverview")),
  }),
  ClusterOverview: objectOf<ClusterOverview>({
    leader: orNull(string),
    term: count,
    position: count,
    isJournalReached: boolean,
    instances: arrayOf(ref("ClusterInstance")),
  }),
  ClusterInstance: objectOf<ClusterInstance>({
    address: string,
    version: string,
    role: enumOf(["leader", "replica"]),
    position: count,
    lag: count,
    isLive: boolean,
    problem: orNull(string),
    files: orNull(string),
  }),
  ConfigEntry: objectOf<ConfigEntry>({
    key: string,
    value: anything,
    default: anything,
    source: enumOf(["default", "file", "environment", "command line"]),
    isSecret: boolean,
    isSet: boolean,
    unit: orNull(enumOf(["bytes", "milliseconds"])),
    variable: string,
    description: string,
  }),
  EffectiveConfig: objectOf<EffectiveConfig>({
    file: string,
    fileExists: boolean,
    keys: arrayOf(ref("ConfigEntry")),
  }),
  LogEntry: objectOf<LogEntry>({
    timestamp: time,
    level: enumOf(LOG_LEVELS),
    message: string,
    source: string,
    requestId: optional(string),
    fields: optional(freeObject),
  }),
  BackupEntry: objectOf<BackupEntry>({
    name: string,
    state: enumOf(["running", "completed", "failed"]),
    size: orNull(count),
    startedAt: time,
    endedAt: orNull(time),
    progress: { type: "number", minimum: 0, maximum: 1 },
    error: orNull(string),
  }),
  MailEntry: objectOf<MailEntry>(mail),
  MailSettings: objectOf<MailSettings>({
    from: orNull(string),
    server: orNull(string),
    publicUrl: orNull(string),
    waiting: count,
    sent: count,
    failed: count,
  }),
  MailTest: objectOf<MailTest>({ isTaken: boolean, answer: string }),
  MailDetail: objectOf<MailDetail>({ ...mail, messageId: string, text: string, html: orNull(string) }),
};

/** By name in the components of the document. */
export const adminSchemas: { readonly [name: string]: Schema } = {
  ...collections,
  ...trials,
  ...operating,
  UserEntry: objectOf<UserEntry>({ ...user, sessions: arrayOf(ref("SessionEntry")) }),
  FileUse: objectOf<FileUse>({ collection: string, field: string, id: string }),
};
