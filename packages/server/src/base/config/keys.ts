/** Configuration keys: the name, type, default and meaning of each key. */
import { LOG_LEVELS, type LogFormat, type LogLevel } from "../logging/index.ts";
import { appAddresses, authProviders } from "./auth-providers.ts";
import { requestLimits } from "./request-limits.ts";
import {
  backupKeep,
  boolean,
  clusterName,
  clusterSecret,
  collectorAddress,
  duration,
  email,
  headerList,
  httpUrl,
  instanceAddress,
  journalAddress,
  mailbox,
  originList,
  pathPrefix,
  processCount,
  publicAddress,
  rate,
  secret,
  size,
  smtpAddress,
  storagePlace,
  text,
  textList,
  textOf,
  type ValueKind,
  variableNames,
  webhookAddress,
  wholeNumber,
} from "./values.ts";

/** The kind of the value, the default and the meaning of a key. */
interface Key<T> {
  readonly kind: ValueKind<T>;
  /** As the file would have the default; undefined for a key without a default. */
  readonly default: unknown;
  readonly meaning: string;
}

function key<T>(kind: ValueKind<T>, fallback: unknown, meaning: string): Key<T> {
  return { kind, default: fallback, meaning };
}

function optional<T>(kind: ValueKind<T>, meaning: string): Key<T | undefined> {
  return { kind, default: undefined, meaning };
}

/**
 * Every configuration key, its default and its meaning; the user documentation prints this table. The path in the file
 * gives the name in the environment: `auth.jwtSecret` is `SERVICE_AUTH_JWT_SECRET`.
 */
export const keys = {
  port: key(
    wholeNumber(0, 65_535),
    8080,
    "HTTP port; with 0 the service picks a free port, and the start log names the port",
  ),
  host: key(text, "0.0.0.0", "address to listen on; `socle dev` uses 127.0.0.1 by default"),
  processes: key(
    processCount,
    1,
    "number of processes that serve requests, on Linux; the leader writes, the reader processes serve reads and have sockets (docs/deploying.md)",
  ),
  "cluster.journal": optional(
    journalAddress,
    "PostgreSQL with the journal of a cluster; with a journal, this process is an instance of the cluster (docs/cluster.md)",
  ),
  "cluster.name": key(clusterName, "socle", "name of the cluster; several clusters may share a PostgreSQL database"),
  "cluster.address": key(
    instanceAddress,
    "auto",
    "address by which the other instances of the cluster reach this instance; each instance has a separate address",
  ),
  "cluster.secret": optional(
    clusterSecret,
    "secret that the instances of the cluster share; needed with cluster.journal",
  ),
  "cluster.mirror": key(
    boolean,
    false,
    "whether the leader writes the records as typed tables into the PostgreSQL of the journal, for SQL tools; the rules of permissions do not apply to the tables",
  ),
  "cluster.maxLag": key(
    duration(100),
    "5s",
    "age of the state from which on an instance reports itself not ready (GET /health/ready)",
  ),
  "cluster.snapshotEvery": key(
    size(1_024 ** 2, 1_024 ** 4),
    "256MiB",
    "bytes of journal after which a snapshot of the database goes into the bucket, at the latest after an hour with changes; also for the continuous backup, at the latest after a day with changes",
  ),
  "tls.cert": optional(
    text,
    "path of the certificate with its issuers' certificates, in PEM: HTTPS without a proxy; needs tls.key",
  ),
  "tls.key": optional(text, "path of the certificate's private key, in PEM, without a password"),
  "tls.redirectPort": optional(
    wholeNumber(0, 65_535),
    "port of plain HTTP that sends every request on to HTTPS; with 0 the service picks a free port",
  ),
  "tls.acme.domains": optional(
    textList,
    "names of this service; ACME (RFC 8555) obtains and renews a certificate for these names, instead of tls.cert and tls.key; needs tls.redirectPort",
  ),
  "tls.acme.email": optional(email, "email address of the ACME account"),
  "tls.acme.directory": key(
    httpUrl,
    "https://acme-v02.api.letsencrypt.org/directory",
    "address of the certificate's issuer, by default Let's Encrypt; by using an issuer you accept its terms",
  ),
  trustedProxies: key(
    wholeNumber(0, 10),
    0,
    "number of reverse proxies in front of the service; the service trusts this number of entries of X-Forwarded-For",
  ),
  database: key(text, "./socle.db", "path of the database file; created when missing"),
  "database.mustExist": key(
    boolean,
    false,
    "refuse to start when the database file is missing or empty, instead of creating the file: for a volume that may not be mounted",
  ),
  storage: key(storagePlace, "./storage", "folder for uploaded files, or s3://BUCKET/PREFIX"),
  "links.ttl": key(duration(1_000, 86_400_000), "5m", "how long a link to a file works without a token"),
  public: optional(text, "folder of static files that are served at /, index.html first"),
  publicFallback: key(
    boolean,
    false,
    "a browser gets index.html for a path without a file (single-page apps); needs public",
  ),
  "endpoints.prefix": key(
    pathPrefix,
    "/api/function",
    "beginning of the paths of endpoints; a file in public and the routes of the service go before an endpoint",
  ),
  "openapi.public": key(
    boolean,
    false,
    "whether /api/openapi.json answers everybody, with the part of the API that the caller may know; otherwise, admins alone",
  ),
  "dashboard.enabled": key(boolean, true, "serve the admin dashboard under /_/"),
  "dashboard.path": optional(
    text,
    "folder of another build of the dashboard, served instead of the build in the executable",
  ),
  "auth.jwtSecret": optional(secret, "key that signs access tokens; by default a random key is stored in the database"),
  "auth.accessTokenTtl": key(duration(1_000), "1h", "lifetime of an access token"),
  "auth.refreshTokenTtl": key(duration(1_000), "30d", "lifetime of a session without a refresh"),
  "auth.registration": key(boolean, true, "whether people may register"),
  "auth.anonymous": key(
    boolean,
    false,
    "whether people may use the service as anonymous users, without an email, until they claim an account",
  ),
  "auth.anonymousKeep": key(
    duration(60_000),
    "30d",
    "time without a sign-in or a refresh after which an anonymous user is deleted",
  ),
  "auth.requireVerified": key(
    boolean,
    false,
    "whether a login needs a proven address; with mail on, a registration then answers 202, and the same for a known address",
  ),
  "auth.codes": key(boolean, false, "whether users may sign in with a code from a mail; needs mail.from"),
  "auth.passwordMinLength": key(wholeNumber(1, 1_000), 8, "shortest password, in characters"),
  "auth.commonPasswords": key(
    textOf(["allow", "refuse"]),
    "allow",
    "whether a new password may be one of the most common passwords; the set-up page of the first admin refuses a common password in any case",
  ),
  "auth.providers": optional(authProviders, "services at which users sign in (docs/sign-in.md); needs publicUrl"),
  "auth.redirects": key(
    appAddresses,
    [],
    "addresses beside publicUrl to which a sign-in at a provider or on the pages may return; paths below an address count, too",
  ),
  "auth.pages.enabled": key(
    boolean,
    true,
    "serve the pages for accounts under /_/auth/: for the links of mails and for sign-ins; also without the dashboard",
  ),
  "auth.pages.title": key(text, "Socle", "name of your app on the pages for accounts"),
  "auth.pages.logo": optional(
    text,
    "path of a picture for the pages for accounts: svg, png, jpg or webp, at most 64 KiB",
  ),
  "admin.email": optional(
    email,
    "a user becomes admin by registering with this address; with admin.password, the start creates this admin once, and not again after a deletion or demotion",
  ),
  "admin.password": optional(secret, "password of the admin that the start creates"),
  publicUrl: optional(
    publicAddress,
    "address of this service for people: in the links of mails, and for sign-ins at providers; without an address, the service sends no links, and sign-ins at providers are off",
  ),
  "mail.from": optional(mailbox, "sender of mails; without a sender, mail is off"),
  "mail.smtp": optional(
    smtpAddress,
    "SMTP server; without a server, mails go to the outbox alone, which admins read, and into the log",
  ),
  "mail.keep": key(duration(0), "30d", "how long the outbox keeps mails that were sent or have failed"),
  "cors.origins": key(originList, ["*"], "origins whose pages may call the API"),
  "limits.body": key(size(1_024, 1_024 ** 3), "1MiB", "largest JSON body"),
  "limits.batchBody": key(size(1_024, 1_024 ** 3), "8MiB", "largest body of a batch"),
  "limits.bodies": key(size(1_024 ** 2, 1_024 ** 4), "64MiB", "bytes of the JSON bodies that are being read, in all"),
  "limits.answers": key(
    size(1_024 ** 2, 1_024 ** 4),
    "128MiB",
    "bytes of the answers that are on the way to clients, in all",
  ),
  "limits.connections": key(wholeNumber(1, 1_000_000), 10_000, "open connections in all"),
  "limits.connectionsPerAddress": key(
    wholeNumber(1, 1_000_000),
    5_000,
    "requests and sockets of an address at the same time",
  ),
  "limits.subscriptions": key(wholeNumber(50, 100_000_000), 100_000, "subscriptions of all sockets"),
  "limits.filters": key(
    wholeNumber(10, 1_000_000),
    1_000,
    "filters of the subscriptions to a collection; a caller has at most a quarter of these; a filter that uses the caller or other records counts as 10",
  ),
  "limits.filterTime": key(
    duration(1),
    "250ms",
    "processor time that the filters and live queries of a caller's subscriptions may take in a second; a burst may take ten times as much",
  ),
  "limits.liveRecords": key(
    wholeNumber(4_000, 100_000_000),
    1_000_000,
    "all memory of live queries, in records of 512 bytes: the records by the limit of a query, 32 for each window, 1 for each 64 characters of a query or of the arguments of a server query, 2 for each viewer; equal queries of callers with the same result count once; a caller has at most an eighth, the users of an address a half",
  ),
  "limits.roomMembers": key(
    wholeNumber(1, 100_000),
    1_000,
    "members of a room; several processes or instances that take members at the same moment may exceed the number by these members",
  ),
  "limits.roomMessages": key(
    wholeNumber(1, 100_000),
    100,
    "joins, states and messages of a user, or of an address without a token, to rooms in a second, in each process and instance",
  ),
  "limits.roomState": key(
    size(64, 64 * 1_024),
    "4KiB",
    "bytes of the state of a member, and of the payload of a message, as JSON; the states of a room together have half of realtime.bufferLimit",
  ),
  "limits.queries": key(wholeNumber(1, 10_000), 256, "queries of a caller that wait for a reader thread"),
  "limits.queryTime": key(duration(10), "10s", "how long a query may run on a reader thread"),
  "limits.endpoints": key(
    wholeNumber(1, 100_000),
    1_000,
    "requests to endpoints and server queries that run at the same time; a caller has at most half of these; the same number may wait",
  ),
  "limits.endpointBody": key(size(1_024, 1_024 ** 4), "10MiB", "largest body of a request to an endpoint"),
  "limits.queuedRuns": key(wholeNumber(1, 100_000_000), 100_000, "runs that wait in a queue"),
  "limits.mails": key(
    wholeNumber(10, 10_000_000),
    10_000,
    "mails that wait to be sent; `mail.send` of your code may fill half of this number; the outbox keeps the same number of other mails",
  ),
  "limits.spans": key(wholeNumber(512, 1_000_000), 10_000, "spans that wait for the collector; the rest is dropped"),
  "limits.payload": key(size(64, 1_024 ** 2), "64KiB", "payload of a run of a queue, as JSON"),
  "limits.hooks": key(
    size(1_024 ** 2, 1_024 ** 4),
    "64MiB",
    "bytes of the records that wait for hooks, in all; a caller has at most half of these",
  ),
  "limits.thumbnails": key(
    wholeNumber(1, 10_000),
    128,
    "thumbnails that wait to be made; a caller has at most three quarters of these",
  ),
  "limits.batches": key(
    wholeNumber(1, 1_000),
    16,
    "large batches that wait for their turn; a caller has at most half of these",
  ),
  "limits.import": key(
    size(1_024, 1_024 ** 4),
    "2GiB",
    "largest body of an import; the body is kept on the disk of the database while the import runs",
  ),
  "limits.uploads": key(
    wholeNumber(1, 100_000),
    256,
    "uploads that wait to be read, or whose clients send nothing; a caller has at most an eighth of these",
  ),
  "limits.storage": key(size(0, 1_024 ** 5), 0, "bytes of stored files in all; 0 is no limit"),
  "limits.storagePerUser": key(size(0, 1_024 ** 5), 0, "bytes of stored files of a user; 0 is no limit"),
  "limits.passwords": key(
    wholeNumber(1, 10_000),
    64,
    "passwords that wait to be hashed; an address or a user has at most half of these",
  ),
  "limits.providerSignIns": key(
    wholeNumber(1, 1_000_000),
    10_000,
    "sign-ins at providers that have begun, and codes for apps; an address has an eighth of these; a further sign-in makes the service forget the oldest of the address, or of all",
  ),
  "limits.providerRequests": key(
    wholeNumber(4, 10_000),
    64,
    "sign-ins that wait for a provider; an address has at most a quarter of these",
  ),
  "limits.providerTime": key(duration(100, 60_000), "10s", "how long a request to a provider of sign-ins may take"),
  "limits.sessionsPerUser": key(
    wholeNumber(1, 10_000),
    100,
    "sessions of a user; a further login ends the oldest session",
  ),
  "limits.keysPerUser": key(wholeNumber(0, 1_000), 50, "API keys of a user, and service keys in all"),
  "limits.passkeysPerUser": key(wholeNumber(1, 1_000), 20, "passkeys of a user"),
  "limits.idempotencyKeys": key(
    wholeNumber(1, 100_000_000),
    100_000,
    "responses to requests with an `Idempotency-Key` that are stored for a caller, each for 24 h; a response counts once for each 4 KiB; beyond, requests with a new key are refused",
  ),
  "limits.cascade": key(
    wholeNumber(0, 10_000_000),
    100_000,
    "records that a deletion deletes or clears beside its own record, by `onDelete`; other writes wait until the deletion is done",
  ),
  "limits.trash": key(
    wholeNumber(0, 10_000_000),
    100_000,
    "deleted records that the trash keeps, of all collections; beyond, the records that were deleted first are gone",
  ),
  "limits.undo": key(
    wholeNumber(1, 10_000_000),
    100_000,
    "changes that an undo takes back; up to 1,000 in one transaction, more in transactions of 100 changes",
  ),
  "limits.diskFree": key(
    size(0, 1_024 ** 5),
    "64MiB",
    "free bytes on the disks of database and files below which /health/ready answers 503, and the service is read-only",
  ),
  "limits.wal": key(
    size(8 * 1_024 ** 2, 1_024 ** 4),
    "64MiB",
    "size of the write-ahead log from which writes wait until the log can start over",
  ),
  "limits.rate.register": key(
    rate,
    "10/s",
    "registrations of an address; the burst is ten seconds' worth of a rate per second, and the count of any other rate",
  ),
  "limits.rate.login": key(rate, "10/s", "logins of an address; the burst is as for registrations"),
  "limits.rate.refresh": key(rate, "20/s", "refreshes of an address; the burst is as for registrations"),
  "limits.rate.setup": key(
    rate,
    "1/s",
    "requests of an address to the set-up of the first admin; the burst is as for registrations",
  ),
  "limits.rate.mail": key(
    rate,
    "60/h",
    "requests of an address for a mail with a link or a code; the burst is as for registrations",
  ),
  "limits.rate.recipient": key(
    rate,
    "20/h",
    "mails with a link or a code to a recipient, and notices to a recipient; a single address may request a quarter of the mails with a link or a code; further requests get the same response, and send nothing",
  ),
  "limits.rate.upload": key(rate, "off", "uploads of an address; the burst is as for registrations"),
  "limits.rate.records": key(rate, "off", "requests of an address for records; the burst is as for registrations"),
  "limits.requests": key(
    requestLimits,
    [],
    "further limits on requests: each entry names routes, the caller to count (per user, address or key), and the most requests in a window of time",
  ),
  "realtime.bufferLimit": key(
    size(64 * 1024, 1024 ** 3),
    "1MiB",
    "bytes that may wait for a socket that reads slowly; a socket with more is cut off, and can resume",
  ),
  "realtime.bufferTotal": key(
    size(1_024 ** 2, 1_024 ** 4),
    "64MiB",
    "bytes that may wait for all sockets together; beyond, the sockets with the most waiting bytes are cut off",
  ),
  "realtime.liveEvery": key(
    duration(1),
    "50ms",
    "the pause between two reads of the window of a live query; changes in between come together",
  ),
  "realtime.serviceEvents": key(
    textOf(["all", "own", "admin"]),
    "all",
    "listeners to events of auth, storage, functions and jobs: all, also without a token; the user whom an event is about, and admins; or admins alone",
  ),
  "cache.size": key(
    size(0, 1024 ** 4),
    "32MiB",
    "bytes of the lists that are cached in memory; a list is kept until the list changes",
  ),
  "thumbs.cacheSize": key(size(0, 1024 ** 4), "256MiB", "bytes of the thumbnails that are kept on disk"),
  "backup.target": key(storagePlace, "./backups", "folder for backups, or s3://BUCKET/PREFIX"),
  "backup.schedule": optional(text, "when a backup is made: five fields of cron, in UTC, for example 0 3 * * *"),
  "backup.keep": key(
    backupKeep,
    7,
    "number of backups that the target keeps, 0 for all, with 7 days of moments of the continuous backup; or a time, for both: what is older is deleted after each new backup, or snapshot",
  ),
  "backup.continuous": optional(
    storagePlace,
    "place of the continuous backup, a folder or s3://BUCKET/PREFIX: every commit is copied (docs/backups.md)",
  ),
  "backup.every": key(
    duration(100, 3_600_000),
    "1s",
    "time after which the commits since the last segment leave for backup.continuous",
  ),
  "backup.log": key(
    size(8 * 1_024 ** 2, 1_024 ** 4),
    "1GiB",
    "size of the write-ahead log at which a backup that copies the database fails; writes never wait for the backup",
  ),
  "backup.recipient": optional(text, "public key of an age identity (age1…), for which backups are encrypted"),
  "s3.endpoint": optional(httpUrl, "address of the S3-compatible store, for s3://…; without an address, AWS"),
  "s3.region": optional(text, "region of the bucket"),
  "s3.accessKeyId": optional(text, "access key of the store"),
  "s3.secretAccessKey": optional(secret, "secret of the access key"),
  "scripts.timeout": key(
    duration(100),
    "30s",
    "how long a function or job may run, unless its options set another time",
  ),
  "scripts.hookTimeout": key(
    duration(100),
    "5s",
    "how long the hooks of a change may take together; the time that a hook waits for its start does not count",
  ),
  "scripts.memory": key(
    size(64 * 1024 ** 2, 1024 ** 4),
    "512MiB",
    "resident memory that the process of functions and jobs may take; a process with more is ended",
  ),
  "scripts.processes": key(
    wholeNumber(1, 64),
    1,
    "number of processes that run functions and jobs; the same number run hooks",
  ),
  "scripts.env": key(
    variableNames,
    [],
    "variables of the environment that the code reads as `env`; a variable whose name ends in ? may be missing",
  ),
  "events.retention": key(duration(0), "7d", "how long the event log keeps an event"),
  "events.maxCount": key(wholeNumber(0, 1_000_000_000), 1_000_000, "how many events the event log keeps"),
  "audit.retention": key(
    duration(0),
    "365d",
    "how long the audit keeps the changes of admins and failed sign-ins, also after the event log has removed these events",
  ),
  "audit.maxCount": key(
    wholeNumber(0, 100_000_000),
    100_000,
    "how many changes of admins, and how many failed sign-ins, the audit keeps beside the event log",
  ),
  "events.maxBytes": key(size(1_024 ** 2, 1_024 ** 5), "1GiB", "bytes of events that the event log keeps"),
  "events.before": key(
    boolean,
    true,
    "whether the event of a change keeps the values before of the changed fields, for histories and undo",
  ),
  "dropped.keep": key(
    duration(0),
    "30d",
    "how long the values of dropped fields and collections are stored, for a restore",
  ),
  "alerts.mail": optional(
    email,
    "address that gets a mail when a condition of `socle status` with the level error or warning begins, and when the condition ends; needs mail.from",
  ),
  "alerts.webhook": optional(
    webhookAddress,
    "address that gets the same as a signed POST of JSON; needs alerts.secret",
  ),
  "alerts.secret": optional(clusterSecret, "secret that signs the posts to alerts.webhook (HMAC-SHA256)"),
  "alerts.after": key(
    duration(0),
    "30s",
    "how long a condition must hold before its begin is told, and be over before its end is told",
  ),
  "metrics.token": optional(secret, "bearer token with which /metrics also answers callers that are not admins"),
  "telemetry.otlp.url": optional(collectorAddress, "collector that gets traces, by OTLP over HTTP (docs/trace.md)"),
  "telemetry.otlp.headers": optional(headerList, "headers of the requests to the collector, such as a token"),
  "telemetry.otlp.sample": key(wholeNumber(0, 100), 100, "percent of the traces that the collector gets"),
  "telemetry.otlp.name": key(text, "socle", "name of this service at the collector (`service.name`)"),
  "log.level": key(textOf<LogLevel>(LOG_LEVELS), "INFO", "lowest level that is logged"),
  "log.format": key(textOf<LogFormat>(["text", "json"]), "text", "format of the log on standard output"),
  "log.access": key(
    wholeNumber(0, 100),
    0,
    "percent of requests that are logged, chosen at random; 0 logs no request, 100 logs all",
  ),
  "log.slowQuery": key(
    duration(0),
    "100ms",
    "queries that take longer are logged, with the plan and the index that would help; 0 logs all",
  ),
};

export type KeyPath = keyof typeof keys;
type ValueOf<P extends KeyPath> = (typeof keys)[P] extends Key<infer T> ? T : never;

/** Every key with its value: paths absolute, times in milliseconds, sizes in bytes. */
export type Values = { readonly [P in KeyPath]: ValueOf<P> };

export type Config = Values & {
  /** The configuration file's folder; relative paths count from here, and `collections/` lies here. */
  readonly folder: string;
};

/** `auth.jwtSecret` → `SERVICE_AUTH_JWT_SECRET`. */
export function environmentName(path: string): string {
  return `SERVICE_${path
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .replaceAll(".", "_")
    .toUpperCase()}`;
}
