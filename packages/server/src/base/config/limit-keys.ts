/** Configuration keys of limits: the bounds of scarce work, memory and disk. */
import { key } from "./key.ts";
import { requestLimits } from "./request-limits.ts";
import { duration, rate, size, wholeNumber } from "./values.ts";

export const limitKeys = {
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
  "limits.vectorMemory": key(
    size(0, 1_024 ** 4),
    "256MiB",
    "bytes of the vectors that a process keeps in memory for `nearest(…)`, of the fields that were asked for last; a field with more vectors is read from the disk for each list",
  ),
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
  "limits.savedViews": key(wholeNumber(0, 10_000), 100, "saved views of a collection"),
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
    "changes that an undo takes back; up to 1,000 in one transaction, more in transactions of 50 changes",
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
};
