import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import {
  configWith,
  environmentName,
  type KeyPath,
  keys,
  type LoadOptions,
  loadConfig,
  logFormatOf,
  secretVariables,
} from "./index.ts";

const folder = temporaryFolder();

async function load(file: unknown, environment: Record<string, string> = {}) {
  const path = join(folder, "config.json");
  await Bun.write(path, typeof file === "string" ? file : JSON.stringify(file));
  return loadConfig({ file: path, environment });
}

test("environment wins over the file, the command line over both; an empty variable counts as absent", async () => {
  const path = join(folder, "config.json");
  await Bun.write(path, '{ "port": 1 }');
  const port = async (environment: Record<string, string>, overrides?: { port: string }) =>
    (await loadConfig({ file: path, environment, ...(overrides === undefined ? {} : { overrides }) })).config.port;
  const env = { SERVICE_PORT: "2" };
  expect([await port({}), await port(env), await port(env, { port: "3" }), await port({ SERVICE_PORT: "" })]).toEqual([
    1, 2, 3, 1,
  ]);
});

test.each(["true", "1", "YES", "on"])("%s is true", async (text) => {
  expect((await load({}, { SERVICE_DASHBOARD_ENABLED: text })).config["dashboard.enabled"]).toBe(true);
});

/** A file with an entry of `limits.requests`, which is right but for the changes. */
function limitOf(changes: object, times = 1): object {
  const entry = { routes: "POST /api/x", per: "user", max: 1, window: "1m", ...changes };
  return { limits: { requests: Array(times).fill(entry) } };
}

describe("each bad value is a line with the key, the value and the allowed values", () => {
  const cases: [unknown, Record<string, string>, RegExp][] = [
    [{ port: "80" }, {}, /config\.json: "80" is not valid for "port"; allowed: a whole number from 0 to 65535/],
    [{ port: 65_536 }, {}, /65536 is not valid for "port"/],
    [{ port: 1.5 }, {}, /"port"/],
    [{ database: "" }, {}, /"database"; allowed: a text/],
    [{ dashboard: { enabled: "yes" } }, {}, /"yes" is not valid for "dashboard.enabled"/],
    [{ dashboard: true }, {}, /true is not valid for "dashboard"; allowed: an object with enabled, path/],
    [{ auth: { accessTokenTtl: "1 week" } }, {}, /"1 week" is not valid for "auth.accessTokenTtl"; allowed: a time/],
    [{ auth: { accessTokenTtl: -1 } }, {}, /"auth.accessTokenTtl"/],
    [{ limits: { rate: { login: "often" } } }, {}, /"often" is not valid for "limits.rate.login"; allowed: a rate/],
    [{ limits: { rate: { login: "0/s" } } }, {}, /"limits.rate.login"/],
    ...[
      "app",
      "/app/",
      "/api",
      "/api/own",
      "/api/functions",
      "/_",
      "/_/x",
      "//",
      "/a//b",
      "/a b",
      "/..",
      "/a/../b",
      "/ä",
      "",
      5,
    ].map((prefix): [unknown, Record<string, string>, RegExp] => [
      { endpoints: { prefix } },
      {},
      /is not valid for "endpoints.prefix"; allowed: \/api\/function, \/, or a path such as \/app outside \/api and \/_/,
    ]),
    ...[
      [
        { limits: { requests: "no" } },
        /"no" is not valid for "limits.requests"; allowed: a list of at most 32 entries/,
      ],
      [limitOf({}, 33), /"limits.requests"; allowed: a list of at most 32 entries/],
      [
        { limits: { requests: [5] } },
        /config.json: limits.requests\[0\]: 5 is not valid; allowed: an object with routes, per, max, window/,
      ],
      [limitOf({ per: "ip" }), /limits.requests\[0\].per: "ip" is not valid; allowed: user, address or key/],
      [limitOf({ max: 0 }), /limits.requests\[0\].max: 0 is not valid; allowed: a whole number from 1/],
      [
        limitOf({ window: "0s" }),
        /limits.requests\[0\].window: "0s" is not valid; allowed: a time like .*, at least 1s, at most 720h/,
      ],
      [limitOf({ burst: 1 }), /limits.requests\[0\].burst is unknown; allowed: routes, per, max or window/],
      ...[
        "",
        "GET",
        "OPTIONS /a",
        "get /a",
        "/a/*/b",
        "/a*",
        "/a?b",
        "a/b",
        "GET  /a",
        "/a//b",
        "/a/",
        "/:id/ x",
        5,
      ].map(
        (routes) =>
          [
            limitOf({ routes }),
            /limits.requests\[0\].routes: .* is not valid; allowed: a path with or without a method/,
          ] as const,
      ),
    ].map(([file, message]): [unknown, Record<string, string>, RegExp] => [file, {}, message as RegExp]),
    [{}, { SERVICE_LIMITS_REQUESTS: "[" }, /SERVICE_LIMITS_REQUESTS: "\[" is not valid for "limits.requests"/],
    ...[
      "mail.example.com",
      "http://mail.example.com",
      "smtp://",
      "smtp://a.example/x",
      "smtps://a.example?tls=0",
      25,
    ].map((smtp): [unknown, Record<string, string>, RegExp] => [
      { mail: { smtp } },
      {},
      /its value is not valid for "mail.smtp"; allowed: smtps:/,
    ]),
    ...[
      "App",
      "App <a@b.example",
      "a b@c.example",
      "A\r\nBcc: <a@b.example>",
      "<a@b@c.example>",
      '"A <a@b.example>',
      '"A" b@c.example',
      "",
    ].map((from): [unknown, Record<string, string>, RegExp] => [
      { mail: { from } },
      {},
      /is not valid for "mail.from"/,
    ]),
    ...[
      "app.example.com",
      "ftp://a.example",
      "https://a.example/?x",
      "https://u@a.example",
      "https://a.example/#x",
    ].map((publicUrl): [unknown, Record<string, string>, RegExp] => [
      { publicUrl },
      {},
      /is not valid for "publicUrl"/,
    ]),
    [{ metrics: { token: ["123456"] } }, {}, /its value is not valid for "metrics.token"/],
    [{ port: "http" }, { SERVICE_PORT: "1" }, /config\.json: "http" is not valid for "port"/],
    [{ auth: { jwtSecret: 123456 } }, {}, /its value is not valid for "auth.jwtSecret"/],
    [{ cors: { origins: "*" } }, {}, /"cors.origins"; allowed: a list/],
    ...[
      "app.example.com",
      "localhost:5173",
      "https://app.example.com/path",
      "https://app.example.com?x",
      "https://app.example.com#x",
      "https://u@app.example.com",
      "https://app.example.com:99999",
      "https://app.*.com",
      "https://*",
      "*.example.com",
      "https://",
      "",
    ].map((origin): [unknown, Record<string, string>, RegExp] => [
      { cors: { origins: ["https://a.example", origin] } },
      {},
      /"cors.origins"; allowed: .*scheme, host, and the port/,
    ]),
    [{ scripts: { env: ["SERVICE_PORT"] } }, {}, /"scripts.env"; allowed: a list of names/],
    [{ scripts: { env: ["MAIL_KEY", "MAIL_KEY?"] } }, {}, /"scripts.env"; allowed: a list of names/],
    [{ scripts: { env: ["MAIL KEY"] } }, {}, /"scripts.env"; allowed: a list of names/],
    [{ storage: "s3://B" }, {}, /"s3:\/\/B" is not valid for "storage"; allowed: a folder, or s3:\/\/BUCKET/],
    [{ storage: "s3:/bucket" }, {}, /"storage"/],
    [{ s3: { endpoint: "localhost:9000" } }, {}, /"s3.endpoint"; allowed: an address such as/],
    [{ realtime: { bufferLimit: "1KiB" } }, {}, /"realtime.bufferLimit"; allowed: a number of bytes from 65536/],
    [{ log: { level: "LOUD" } }, {}, /"log.level"; allowed: DEBUG, INFO, WARN, ERROR/],
    [{}, { SERVICE_PORT: "http" }, /SERVICE_PORT: "http" is not valid for "port"/],
    [{}, { SERVICE_DASHBOARD_ENABLED: "maybe" }, /SERVICE_DASHBOARD_ENABLED: "maybe"/],
    [{}, { SERVICE_DASHBOARD_ENABLED: "constructor" }, /SERVICE_DASHBOARD_ENABLED: "constructor" is not/],
    [{}, { SERVICE_LIMITS_BODY: "1" }, /SERVICE_LIMITS_BODY/],
    ["[]", {}, /must hold a JSON object/],
    ['{ // comment\n "__proto__": { "port": 1 } }', {}, /config\.json: the key "__proto__" is not allowed/],
    ['{\n  "port": 1\n  "host": "x"\n}', {}, /config\.json: is not JSON: comma expected in line 3$/],
    ["{ port: }", {}, /config\.json: is not JSON: .* in line 1$/],
  ];
  test.each(cases)("%j %j", async (file, environment, message) => {
    const failure = await load(file, environment).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(Error);
    expect(String(failure)).toMatch(message);
    expect(String(failure)).not.toContain("\n");
    expect(String(failure)).not.toContain("123456");
  });
});

test("unknown keys are warnings that suggest the nearest", async () => {
  const { warnings } = await load({ prot: 1, auth: { jwtSecrte: "x" }, $schema: "…" });
  expect(warnings).toEqual([
    expect.stringContaining('unknown key "prot"; did you mean "port"?'),
    expect.stringContaining('unknown key "auth.jwtSecrte"; did you mean "auth.jwtSecret"?'),
  ]);
});

test("a variable that overrides no key is a warning that suggests the nearest", async () => {
  const { warnings } = await load({}, { SERVICE_PROT: "1", PROT: "1", SERVICE_NOTHING_OF_THE_KIND: "1" });
  expect(warnings).toEqual([
    "unknown variable SERVICE_PROT; did you mean SERVICE_PORT?",
    "unknown variable SERVICE_NOTHING_OF_THE_KIND",
  ]);
});

test("a bucket is no path", async () => {
  expect((await load({ storage: "s3://bucket/some/prefix" })).config.storage).toBe("s3://bucket/some/prefix");
});

test("comments and trailing commas are fine, and secrets never show", async () => {
  const { config, warnings } = await load('{ // a comment\n "port": 1, "auth": { "jwtSecret": "short", }, }');
  expect(config.port).toBe(1);
  expect(warnings).toEqual([expect.stringContaining("auth.jwtSecret has 5 characters")]);
  expect((await load({ publicUrl: "http://127.0.0.1:8080" })).warnings).toEqual([]);
  expect((await load({ publicUrl: "http://app.example.com" })).warnings).toEqual([
    expect.stringContaining("publicUrl begins with http"),
  ]);
  expect(`${JSON.stringify(config)} ${Bun.inspect(config)}`).not.toContain('"short"');
});

test("without the default file, defaults apply and a note says so", async () => {
  const { config, notes } = await loadConfig({ file: null, environment: {} });
  expect([config.port, config["events.maxCount"], config["auth.accessTokenTtl"]]).toEqual([8080, 1_000_000, 3_600_000]);
  expect(notes).toEqual([expect.stringContaining("defaults apply")]);
  await expect(loadConfig({ file: "/nowhere/config.json", environment: {} })).rejects.toThrow("cannot be read");
});

describe("the configuration as admins see the keys", () => {
  async function entry(key: KeyPath, options: Partial<LoadOptions> = {}, file: unknown = {}) {
    const path = join(folder, "config.json");
    await Bun.write(path, JSON.stringify(file));
    const { live } = await loadConfig({ file: path, environment: {}, ...options });
    return live.effective().keys.find((each) => each.key === key);
  }

  const inFile = { port: 1, limits: { body: "2MiB" } };
  const environment = { SERVICE_PORT: "2" };
  test.each<[name: string, key: KeyPath, options: Partial<LoadOptions>, expected: object]>([
    ["nothing said", "host", {}, { value: "0.0.0.0", default: "0.0.0.0", source: "default", isSet: true }],
    ["another default", "host", { defaults: { host: "::1" } }, { value: "::1", default: "::1", source: "default" }],
    ["the file", "port", {}, { value: 1, default: 8080, source: "file", unit: null, variable: "SERVICE_PORT" }],
    ["the environment", "port", { environment }, { value: 2, default: 8080, source: "environment" }],
    ["an empty variable", "port", { environment: { SERVICE_PORT: "" } }, { value: 1, source: "file" }],
    [
      "the command line",
      "port",
      { environment, overrides: { port: "3" } },
      { value: 3, default: 8080, source: "command line" },
    ],
    ["bytes", "limits.body", {}, { value: 2_097_152, default: 1_048_576, unit: "bytes" }],
    ["a time", "auth.accessTokenTtl", {}, { value: 3_600_000, unit: "milliseconds" }],
    ["a path", "database", {}, { value: join(folder, "socle.db"), default: join(folder, "socle.db") }],
    ["a path without default", "public", {}, { value: null, default: null, source: "default", isSet: false }],
    [
      "a rate",
      "limits.rate.login",
      { environment: { SERVICE_LIMITS_RATE_LOGIN: "7 / m" } },
      { value: "7/m", default: "10/s" },
    ],
    [
      "limits of requests",
      "limits.requests",
      { environment: { SERVICE_LIMITS_REQUESTS: '[{"routes":"*","per":"address","max":5,"window":"2m"}]' } },
      { value: [{ routes: "*", per: "address", max: 5, window: "120s" }], default: [] },
    ],
    ["no rate", "limits.rate.records", {}, { value: "off", default: "off", isSet: true }],
    [
      "a list",
      "cors.origins",
      { environment: { SERVICE_CORS_ORIGINS: "a://b,c://d" } },
      { value: ["a://b", "c://d"], default: ["*"] },
    ],
  ])("%s", async (_name, key, options, expected) => {
    expect(await entry(key, options, inFile)).toMatchObject({ key, isSecret: false, ...expected });
  });

  test("a secret shows only whether the secret is set", async () => {
    const secrets = Object.keys(keys).filter((path) => secretVariables.includes(environmentName(path)));
    const hush = "hush".repeat(10);
    const file = join(folder, "none.json");
    await Bun.write(file, "{}");
    const providers = { google: { clientId: "app", clientSecret: hush } };
    const given = Object.fromEntries(secretVariables.map((name) => [name, hush]));
    given["SERVICE_MAIL_SMTP"] = `smtps://${hush}:${hush}@mail.example.com`;
    given["SERVICE_ALERTS_WEBHOOK"] = `https://example.com/${hush}`;
    given["SERVICE_CLUSTER_JOURNAL"] = `postgres://${hush}:${hush}@db.example.com/app`;
    given["SERVICE_TELEMETRY_OTLP_HEADERS"] = `authorization=Bearer ${hush}`;
    given["SERVICE_AUTH_PROVIDERS"] = JSON.stringify(providers);
    for (const [environment, isSet] of [
      [{}, false],
      [given, true],
    ] as const) {
      const { live } = await loadConfig({ file, environment });
      const kept = live.effective().keys.filter(({ isSecret }) => isSecret);
      expect(kept.map(({ key }) => key)).toEqual(secrets);
      for (const each of kept) expect([each.value, each.default, each.isSet]).toEqual([null, null, isSet]);
      expect(JSON.stringify(live.effective())).not.toContain("hush");
    }
  });

  test("every key, in the order of the documentation, and the file", async () => {
    const file = join(folder, "config.json");
    await Bun.write(file, "{}");
    const { live } = await loadConfig({ file, environment: {} });
    expect(live.effective()).toMatchObject({ file, fileExists: true });
    expect(live.effective().keys.map(({ key }) => key)).toEqual(Object.keys(keys));
    expect(live.effective().keys.filter(({ description }) => !description.includes(": "))).toEqual([]);
  });
});

describe("the format of the log by itself", () => {
  test.each<[name: string, file: string | null, variable: string, format: "json" | "text"]>([
    ["nothing said", "{}", "", "text"],
    ["the file", '{ "log": { "format": "json" } }', "", "json"],
    ["the file, with a dot", '{ "log.format": "json" }', "", "json"],
    ["the environment over the file", '{ "log": { "format": "json" } }', "Text", "text"],
    ["a variable that is not allowed", '{ "log": { "format": "json" } }', "xml", "json"],
    ["another key that is not valid", '{ "log": { "format": "json" }, "port": "http", "auth": 1 }', "", "json"],
    ["a file that is not JSON", '{ "log": { "format": "json" }, "port" }', "", "text"],
    ["no file, and the environment", null, "json", "json"],
    ["a value that is no text", '{ "log": { "format": ["json"] } }', "", "text"],
  ])("%s", async (_name, content, variable, format) => {
    const file = join(folder, content === null ? "none.json" : "format.json");
    if (content !== null) await Bun.write(file, content);
    expect(await logFormatOf({ file, environment: { SERVICE_LOG_FORMAT: variable } })).toBe(format);
  });
});

test("a live setting takes the place of a default, also in a changed copy, and of no given value", async () => {
  const { config, live } = await load({ "mail.keep": "3d" });
  const copy = configWith(config, { port: 1 });
  const usual = config["events.maxCount"];
  live.set("events.maxCount", 5);
  live.set("mail.keep", "9d");
  expect([config["events.maxCount"], copy["events.maxCount"], copy.port]).toEqual([5, 5, 1]);
  expect(config["mail.keep"]).toBe(259_200_000);
  expect(() => live.set("events.maxCount", "many")).toThrow('settings: "many" is not valid for "events.maxCount"');
  expect(config["events.maxCount"]).toBe(5);
  live.set("events.maxCount", null);
  expect(copy["events.maxCount"]).toBe(usual);
  expect(() => Reflect.set(config, "port", 2) || Reflect.set(config, "events.maxCount", 2)).not.toThrow();
  expect([config.port === 2, config["events.maxCount"]]).toEqual([false, usual]);
});
