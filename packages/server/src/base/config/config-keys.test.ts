/** Every key of the configuration, by the file and by the environment. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import { Secret } from "../kernel/index.ts";
import { type Config, environmentName, type KeyPath, keys, loadConfig } from "./index.ts";

const folder = temporaryFolder();

async function load(file: unknown, environment: Record<string, string> = {}) {
  const path = join(folder, "config.json");
  await Bun.write(path, JSON.stringify(file));
  return loadConfig({ file: path, environment });
}

/** For every key: a value in the file, the same in the environment, and what the service sees. */
const values: { [path in KeyPath]: [unknown, string, unknown] } = {
  port: [9000, "9000", 9000],
  host: ["127.0.0.1", "127.0.0.1", "127.0.0.1"],
  processes: ["auto", "Auto", "auto"],
  "cluster.journal": ["postgres://a:b%40@db:5432/c", "postgres://a:b%40@db:5432/c", "postgres://a:b%40@db:5432/c"],
  "cluster.name": ["shop", "shop", "shop"],
  "cluster.address": ["http://10.0.0.5:8080/", "http://10.0.0.5:8080", "http://10.0.0.5:8080"],
  "cluster.secret": ["0123456789abcdef", "0123456789abcdef", "0123456789abcdef"],
  "cluster.mirror": [true, "true", true],
  "cluster.maxLag": ["2s", "2s", 2_000],
  "cluster.snapshotEvery": ["64MiB", "64MiB", 64 * 1024 ** 2],
  "tls.cert": ["tls/cert.pem", "./tls/cert.pem", join(folder, "tls/cert.pem")],
  "tls.key": ["tls/key.pem", "./tls/key.pem", join(folder, "tls/key.pem")],
  "tls.redirectPort": [80, "80", 80],
  "tls.acme.domains": [["a.example", "b.example"], "a.example,b.example", ["a.example", "b.example"]],
  "tls.acme.email": ["A@Example.com", " A@Example.com", "a@example.com"],
  "tls.acme.directory": ["https://ca.example/dir", "https://ca.example/dir", "https://ca.example/dir"],
  trustedProxies: [1, "1", 1],
  database: ["./x/data.db", "./x/data.db", join(folder, "x/data.db")],
  "database.mustExist": [true, "1", true],
  storage: ["files", "files", join(folder, "files")],
  "links.ttl": ["10m", "600", 600_000],
  public: ["site", "./site", join(folder, "site")],
  publicFallback: [true, "yes", true],
  "endpoints.prefix": ["/app/v1", "/app/v1", "/app/v1"],
  "openapi.public": [true, "yes", true],
  "dashboard.enabled": [false, "No", false],
  "dashboard.path": ["dashboard", "./dashboard", join(folder, "dashboard")],
  "auth.jwtSecret": ["s".repeat(32), "s".repeat(32), "s".repeat(32)],
  "auth.accessTokenTtl": ["15m", "15m", 900_000],
  "auth.refreshTokenTtl": [3600, "3600", 3_600_000],
  "auth.registration": [false, "0", false],
  "auth.anonymous": [true, "1", true],
  "auth.anonymousKeep": ["7d", "7d", 7 * 86_400_000],
  "auth.requireVerified": [true, "yes", true],
  "auth.codes": [true, "1", true],
  "auth.passwordMinLength": [12, "12", 12],
  "auth.commonPasswords": ["refuse", "refuse", "refuse"],
  "auth.providers": [
    { "my-oidc": { issuer: "https://id.example.com", clientId: "app", clientSecret: "hush" } },
    '{"my-oidc":{"issuer":"https://id.example.com","clientId":"app","clientSecret":"hush"}}',
    [
      {
        name: "my-oidc",
        clientId: "app",
        clientSecret: new Secret("hush"),
        issuer: "https://id.example.com",
        title: null,
        scopes: null,
        trustEmail: null,
        ownCallback: false,
        tenant: null,
        appleKey: null,
      },
    ],
  ],
  "auth.redirects": [["https://a.example", "app://b"], "https://a.example, app://b", ["https://a.example", "app://b"]],
  "auth.pages.enabled": [false, "0", false],
  "auth.pages.title": ["Shop", "Shop", "Shop"],
  "auth.pages.logo": ["logo.svg", "./logo.svg", join(folder, "logo.svg")],
  "admin.email": ["A@Example.com", " A@Example.com", "a@example.com"],
  "admin.password": ["a password", "a password", "a password"],
  publicUrl: ["https://App.example:443/base/", "https://app.example/base", "https://app.example/base"],
  "mail.from": ['"App, Inc." <a@example.com>', ' "App, Inc." <a@example.com>', '"App, Inc." <a@example.com>'],
  "mail.smtp": ["smtps://u:p%40@a.example:465", "smtps://u:p%40@a.example:465", "smtps://u:p%40@a.example:465"],
  "mail.keep": ["1d", "86400", 86_400_000],
  "cors.origins": [
    ["HTTPS://A.example:443/", "http://münchen.example:80", "app://b", "https://*.c.example:8443", "*", "null"],
    "https://a.example, http://xn--mnchen-3ya.example,app://b,https://*.c.example:8443,*,null",
    ["https://a.example", "http://xn--mnchen-3ya.example", "app://b", "https://*.c.example:8443", "*", "null"],
  ],
  "limits.body": ["2MiB", "2097152", 2_097_152],
  "limits.batchBody": ["2MiB", "2097152", 2097152],
  "limits.bodies": ["2MiB", "2097152", 2097152],
  "limits.answers": ["2MiB", "2097152", 2097152],
  "limits.connections": [500, "500", 500],
  "limits.connectionsPerAddress": [50, "50", 50],
  "limits.subscriptions": [500, "500", 500],
  "limits.filters": [500, "500", 500],
  "limits.filterTime": ["1s", "1", 1_000],
  "limits.liveRecords": [10_000, "10000", 10_000],
  "limits.roomMembers": [10, "10", 10],
  "limits.roomMessages": [20, "20", 20],
  "limits.roomState": ["1KiB", "1KiB", 1_024],
  "limits.queries": [5, "5", 5],
  "limits.queryTime": ["5s", "5", 5_000],
  "limits.vectorMemory": ["1MiB", "1MiB", 1_048_576],
  "limits.endpoints": [9, "9", 9],
  "limits.endpointBody": ["2KiB", "2048", 2_048],
  "limits.queuedRuns": [9, "9", 9],
  "limits.mails": [500, "500", 500],
  "limits.spans": [2_000, "2000", 2_000],
  "limits.payload": ["2KiB", "2048", 2_048],
  "limits.hooks": ["2MiB", "2097152", 2097152],
  "limits.thumbnails": [5, "5", 5],
  "limits.batches": [5, "5", 5],
  "limits.import": ["1GiB", "1GiB", 1_024 ** 3],
  "limits.uploads": [5, "5", 5],
  "limits.storage": ["1GiB", "1073741824", 1073741824],
  "limits.storagePerUser": ["1GiB", "1073741824", 1073741824],
  "limits.passwords": [5, "5", 5],
  "limits.providerSignIns": [5, "5", 5],
  "limits.providerRequests": [5, "5", 5],
  "limits.providerTime": ["5s", "5", 5_000],
  "limits.sessionsPerUser": [5, "5", 5],
  "limits.savedViews": [5, "5", 5],
  "limits.keysPerUser": [5, "5", 5],
  "limits.passkeysPerUser": [5, "5", 5],
  "limits.idempotencyKeys": [5, "5", 5],
  "limits.cascade": [5, "5", 5],
  "limits.trash": [6, "6", 6],
  "limits.undo": [5, "5", 5],
  "limits.diskFree": ["1GiB", "1073741824", 1_024 ** 3],
  "limits.wal": ["8MiB", "8388608", 8_388_608],
  "limits.rate.register": ["20/s", "20/s", { count: 20, perMs: 1_000 }],
  "limits.rate.login": ["20/s", "20/s", { count: 20, perMs: 1_000 }],
  "limits.rate.refresh": ["20/s", "20/s", { count: 20, perMs: 1_000 }],
  "limits.rate.setup": ["20/s", "20/s", { count: 20, perMs: 1_000 }],
  "limits.rate.mail": ["20/h", "20/h", { count: 20, perMs: 3_600_000 }],
  "limits.rate.recipient": ["off", "Off", null],
  "limits.rate.upload": ["20/s", "20/s", { count: 20, perMs: 1_000 }],
  "limits.rate.records": ["off", "Off", null],
  "limits.requests": [
    [{ routes: "POST /api/orders", per: "user", max: 10, window: "1m" }],
    '[{ "routes": "POST /api/orders", "per": "user", "max": 10, "window": "1m" }]',
    [{ routes: "POST /api/orders", per: "user", max: 10, windowMs: 60_000 }],
  ],
  "realtime.bufferLimit": ["2MiB", "2097152", 2_097_152],
  "realtime.bufferTotal": ["2MiB", "2097152", 2_097_152],
  "realtime.liveEvery": ["80ms", "0.08", 80],
  "realtime.serviceEvents": ["own", "own", "own"],
  "cache.size": ["1GiB", "1073741824", 1_073_741_824],
  "thumbs.cacheSize": ["1GiB", "1073741824", 1_073_741_824],
  "backup.target": ["kept", "./kept", join(folder, "kept")],
  "backup.schedule": ["0 3 * * *", "0 3 * * *", "0 3 * * *"],
  "backup.keep": ["36h", "36h", "36h"],
  "backup.continuous": ["/mnt/live", "/mnt/live", "/mnt/live"],
  "backup.every": ["2s", "2s", 2_000],
  "backup.log": ["2GiB", "2147483648", 2_147_483_648],
  "backup.recipient": ["age1key", "age1key", "age1key"],
  "s3.endpoint": ["https://s3.example.com", "https://s3.example.com", "https://s3.example.com"],
  "s3.region": ["eu-west-1", "eu-west-1", "eu-west-1"],
  "s3.accessKeyId": ["AKIA", "AKIA", "AKIA"],
  "s3.secretAccessKey": ["hush", "hush", "hush"],
  "scripts.timeout": ["5s", "5", 5_000],
  "scripts.hookTimeout": ["2s", "2", 2_000],
  "scripts.memory": ["1GiB", "1073741824", 1_073_741_824],
  "scripts.processes": [2, "2", 2],
  "scripts.env": [["MAIL_KEY", "REGION?"], "MAIL_KEY, REGION?", ["MAIL_KEY", "REGION?"]],
  "events.retention": [0, "0", 0],
  "events.maxCount": [10, "10", 10],
  "audit.retention": ["1d", "86400", 86_400_000],
  "audit.maxCount": [10, "10", 10],
  "events.maxBytes": ["2MiB", "2097152", 2_097_152],
  "events.before": [false, "false", false],
  "dropped.keep": ["2d", "172800", 172_800_000],
  "alerts.mail": ["ops@example.com", "ops@example.com", "ops@example.com"],
  "alerts.webhook": ["https://example.com/hook?k=1", "https://example.com/hook?k=1", "https://example.com/hook?k=1"],
  "alerts.secret": ["a secret of alarms", "a secret of alarms", "a secret of alarms"],
  "alerts.after": ["1m", "60", 60_000],
  "metrics.token": ["hush", "hush", "hush"],
  "telemetry.otlp.url": ["http://otel:4318/v1/traces", "http://otel:4318/", "http://otel:4318"],
  "telemetry.otlp.headers": [
    { authorization: "Bearer x=1" },
    "authorization=Bearer x=1",
    '{"authorization":"Bearer x=1"}',
  ],
  "telemetry.otlp.sample": [10, "10", 10],
  "telemetry.otlp.name": ["shop", "shop", "shop"],
  "log.level": ["WARN", "warn", "WARN"],
  "log.format": ["json", "JSON", "json"],
  "log.access": [5, "5", 5],
  "log.repeats": [0, "0", 0],
  "log.slowQuery": ["2s", "2", 2_000],
};

/** Keys that have no effect alone, which is a warning. */
const needsAnother: readonly KeyPath[] = ["admin.password", "mail.smtp", "telemetry.otlp.headers", "tls.redirectPort"];

function seen(config: Config, path: KeyPath): unknown {
  const value = config[path];
  return value instanceof Secret ? value.reveal() : value;
}

describe("every key", () => {
  test.each(Object.entries(values))(
    "%s by file and by environment",
    async (path, [inFile, inEnvironment, expected]) => {
      const key = path as KeyPath;
      const file = path.split(".").reduceRight((value, name) => ({ [name]: value }), inFile);
      expect(seen((await load(file)).config, key)).toEqual(expected);
      const byEnvironment = await load({}, { [environmentName(path)]: inEnvironment });
      expect(seen(byEnvironment.config, key)).toEqual(expected);
      expect(byEnvironment.warnings).toEqual(needsAnother.includes(key) ? [expect.any(String)] : []);
    },
  );

  test("the table of names", () => {
    expect(Object.keys(values)).toEqual(Object.keys(keys));
    expect(environmentName("auth.jwtSecret")).toBe("SERVICE_AUTH_JWT_SECRET");
    expect(environmentName("dashboard.enabled")).toBe("SERVICE_DASHBOARD_ENABLED");
    expect(environmentName("trustedProxies")).toBe("SERVICE_TRUSTED_PROXIES");
  });
});
