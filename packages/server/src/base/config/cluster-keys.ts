/** Configuration keys of a cluster: a service of several machines with a journal in PostgreSQL. */
import { Secret } from "../kernel/index.ts";
import { key, optional } from "./key.ts";
import { boolean, publicAddress, secret, size, type ValueKind } from "./values.ts";

/** The address of a PostgreSQL server, with user, password and database. */
const journalAddress: ValueKind<Secret> = {
  parse(value) {
    const url = typeof value === "string" ? URL.parse(value) : null;
    const isGood = url !== null && /^postgres(?:ql)?:$/.test(url.protocol) && url.hostname !== "" && url.hash === "";
    return isGood ? new Secret(url.href) : undefined;
  },
  allowed: "postgres://USER:PASSWORD@HOST:PORT/DATABASE; special characters as in %40",
  isSecret: true,
};

const clusterName: ValueKind<string> = {
  parse: (value) => (typeof value === "string" && /^[a-z0-9][a-z0-9-]{0,62}$/.test(value) ? value : undefined),
  allowed: "1 to 63 lower-case letters, digits and dashes",
};

/** The shortest secret between instances, in characters. */
const leastSecret = 16;

const clusterSecret: ValueKind<Secret> = {
  ...secret,
  parse: (value) => (typeof value === "string" && value.length >= leastSecret ? new Secret(value) : undefined),
  allowed: `a text of at least ${leastSecret} characters`,
};

const instanceAddress: ValueKind<string> = {
  parse: (value) => (value === "auto" ? value : publicAddress.parse(value)),
  allowed: 'an address such as http://10.0.0.5:8080, or "auto" for the host and the port that this instance listens on',
};

export const clusterKeys = {
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
  "cluster.snapshotEvery": key(
    size(1_024 ** 2, 1_024 ** 4),
    "256MiB",
    "bytes of journal after which a snapshot of the database goes into the bucket; at the latest, after an hour with changes",
  ),
};
