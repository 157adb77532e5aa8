/** Configuration keys: the name, type, default and meaning of each key. */
import { LOG_LEVELS, type LogFormat, type LogLevel } from "../logging/index.ts";
import { appAddresses, authProviders } from "./auth-providers.ts";
import { type Key, key, optional } from "./key.ts";
import { limitKeys } from "./limit-keys.ts";
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
  secret,
  size,
  smtpAddress,
  storagePlace,
  text,
  textList,
  textOf,
  variableNames,
  webhookAddress,
  wholeNumber,
} from "./values.ts";

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
  ...limitKeys,
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
  "log.repeats": key(
    wholeNumber(0, 10_000),
    60,
    "lines of WARN or ERROR with the same text that are logged in a minute, further lines are counted; 0 logs all",
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
