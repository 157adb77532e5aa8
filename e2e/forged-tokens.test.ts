/**
 * Forged access tokens against the executable: a table of headers, payloads, signatures and spellings, each of which is 401 on each way in,
 * beside the same token made rightly, which is 200.
 */
import { expect, test } from "bun:test";
import { post, project, serve } from "./kit.ts";

const secret = "a secret of the tests, which no forger has";
const server = await serve(
  await project({
    collections: [
      {
        name: "notes",
        fields: [{ name: "text", type: "string" }],
        permissions: { read: "authenticated", create: "authenticated" },
      },
    ],
  }),
  { env: { SERVICE_AUTH_JWT_SECRET: secret } },
);

async function register(email: string): Promise<string> {
  const answer = await post(`${server.url}/api/auth/register`, { email, password: "correct horse battery" });
  return ((await answer.json()) as { accessToken: string }).accessToken;
}

const real = await register("victim@example.com");
const another = await register("attacker@example.com");
const [realHeader = "", realPayload = "", realSignature = ""] = real.split(".");
const claims = JSON.parse(Buffer.from(realPayload, "base64url").toString()) as Record<string, unknown>;
const now = Math.floor(Date.now() / 1_000);

const encode = (part: string | Uint8Array): string => Buffer.from(part).toString("base64url");
type Hash = "sha256" | "sha384" | "sha512";

/** A token of these two texts, signed with HMAC. */
function signed(header: string, payload: string | Uint8Array, { key = secret, hash = "sha256" as Hash } = {}): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${new Bun.CryptoHasher(hash, key).update(input).digest("base64url")}`;
}

/** The claims of the victim as a text, with a claim in place of `exp` or beside `exp`. */
const payload = (changes: Record<string, unknown> = {}): string => JSON.stringify({ ...claims, ...changes });
/** The claims with an `exp` that is written as this text. */
const expAs = (text: string): string => payload({ exp: 0 }).replace('"exp":0', `"exp":${text}`);
const hs256 = '{"alg":"HS256","typ":"JWT"}';
const rightly = payload();

/** A signature with a single bit of a byte changed. */
function flipped(byte: number): string {
  const bytes = Buffer.from(realSignature, "base64url");
  bytes[byte] = (bytes[byte] ?? 0) ^ 1;
  return `${realHeader}.${realPayload}.${bytes.toString("base64url")}`;
}

const { publicKey, privateKey } = await crypto.subtle.generateKey(
  { name: "RSASSA-PKCS1-v1_5", modulusLength: 2_048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
  true,
  ["sign", "verify"],
);
const ownKey = await crypto.subtle.exportKey("jwk", publicKey);
const ownHmac = { kty: "oct", k: encode("a key of the attacker, in the header itself"), alg: "HS256" };

async function signedByOwnKey(header: object): Promise<string> {
  const input = `${encode(JSON.stringify(header))}.${encode(rightly)}`;
  const signature = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", privateKey, Buffer.from(input));
  return `${input}.${encode(new Uint8Array(signature))}`;
}

/** The text of a token in the alphabet of plain base64. */
const plain = (text: string): string => text.replaceAll("-", "+").replaceAll("_", "/");
/** A right token whose signature has a letter by which the two alphabets differ. */
function withOddLetter(): string {
  for (let n = 0; ; n++) {
    const token = signed(hs256, payload({ n }));
    if (/[-_]/.test(token.split(".")[2] ?? "")) return token;
  }
}
const oddLetter = withOddLetter();

const controls: Readonly<Record<string, string>> = {
  "as the service has issued the token": real,
  "as the service signs": signed(hs256, rightly),
  "with a header in another order and with spaces": signed('{ "typ": "JWT", "alg": "HS256" }', rightly),
  "with a claim that the service does not know": signed(hs256, payload({ extra: [1] })),
  "with a letter of the alphabet of URLs in the signature": oddLetter,
};

const forged: Readonly<Record<string, string>> = {
  // The algorithm.
  ...Object.fromEntries(
    ["none", "None", "NONE", "nOnE", "", "HS1", "hs256", "HS256 ", "HMACSHA256"].flatMap((alg) => [
      [`alg ${JSON.stringify(alg)}, without a signature`, `${encode(JSON.stringify({ alg }))}.${realPayload}.`],
      [
        `alg ${JSON.stringify(alg)}, with the signature of another header`,
        `${encode(JSON.stringify({ alg }))}.${realPayload}.${realSignature}`,
      ],
      [`alg ${JSON.stringify(alg)}, signed with the right key`, signed(JSON.stringify({ alg }), rightly)],
    ]),
  ),
  ...Object.fromEntries(
    [null, true, 256, ["HS256"], { HS256: true }].map((alg) => [
      `alg ${JSON.stringify(alg)}, signed with the right key`,
      signed(JSON.stringify({ alg }), rightly),
    ]),
  ),
  "no alg, signed with the right key": signed('{"typ":"JWT"}', rightly),
  "HS384 with the right key": signed('{"alg":"HS384"}', rightly, { hash: "sha384" }),
  "HS512 with the right key": signed('{"alg":"HS512"}', rightly, { hash: "sha512" }),
  "alg HS384 over a signature of HS256": signed('{"alg":"HS384"}', rightly),
  "alg HS256 over a signature of HS512": signed(hs256, rightly, { hash: "sha512" }),
  "alg RS256 over a signature of HS256": signed('{"alg":"RS256"}', rightly),
  "alg RS256 with a key of the attacker": await signedByOwnKey({ alg: "RS256" }),
  "alg RS256 with the attacker's key in the header": await signedByOwnKey({ alg: "RS256", jwk: ownKey }),
  "alg HS256 over a signature of RS256": await signedByOwnKey({ alg: "HS256", jwk: ownKey }),
  "alg ES256 with zeros for a signature": `${encode('{"alg":"ES256"}')}.${realPayload}.${encode(new Uint8Array(64))}`,
  // The header.
  "alg twice, the last none": signed('{"alg":"HS256","alg":"none"}', rightly),
  "alg twice, the first HS256, without a signature": `${encode('{"alg":"HS256","alg":"none"}')}.${realPayload}.`,
  "alg twice, the last HS256, without a signature": `${encode('{"alg":"none","alg":"HS256"}')}.${realPayload}.`,
  "the attacker's own secret in jwk": signed(JSON.stringify({ alg: "HS256", jwk: ownHmac }), rightly, {
    key: "a key of the attacker, in the header itself",
  }),
  "a kid that names an empty file": signed('{"alg":"HS256","kid":"../../../../dev/null"}', rightly, { key: "\0" }),
  "a kid that is SQL": signed(`{"alg":"HS256","kid":"x' UNION SELECT 'k"}`, rightly, { key: "k" }),
  "a jku of the attacker": await signedByOwnKey({ alg: "RS256", jku: "http://127.0.0.1:9/jwks", kid: "1" }),
  "an extension that must be understood": signed('{"alg":"HS256","crit":["exp-free"],"exp-free":true}', rightly),
  "an extension that must be understood, and is missing": signed('{"alg":"HS256","crit":["x"]}', rightly),
  "an empty list of extensions": signed('{"alg":"HS256","crit":[]}', rightly),
  "a payload that is not encoded": signed('{"alg":"HS256","b64":false,"crit":["b64"]}', rightly),
  ...Object.fromEntries(
    ["", "null", "[]", '"HS256"', "1", "{", '{"alg":"HS256"', '{"alg":"HS256"}x'].map((text) => [
      `the header ${JSON.stringify(text)}`,
      signed(text, rightly),
    ]),
  ),
  // The key.
  ...Object.fromEntries(
    [
      " ",
      "\0",
      "secret",
      "null",
      "undefined",
      secret.slice(0, -1),
      `${secret} `,
      secret.toUpperCase(),
      realSignature,
    ].map((key) => [`the key ${JSON.stringify(key)}`, signed(hs256, rightly, { key })]),
  ),
  // The payload.
  ...Object.fromEntries(
    ["", "null", "[]", '""', "0", "{}", rightly.slice(0, -1), `${rightly}x`, `[${rightly}]`].map((text) => [
      `the payload ${JSON.stringify(text.slice(0, 20))} of ${text.length} characters`,
      signed(hs256, text),
    ]),
  ),
  "a payload that is not UTF-8": signed(hs256, Buffer.concat([Buffer.from(rightly.slice(0, -1)), Buffer.from([0xff])])),
  "claims of another user under the old signature": `${realHeader}.${another.split(".")[1]}.${realSignature}`,
  "the session of another user": signed(hs256, payload({ sub: "usr_nobody" })),
  ...Object.fromEntries(
    ["sub", "sid", "exp"].map((name) => [`no ${name}`, signed(hs256, payload({ [name]: undefined }))]),
  ),
  ...Object.fromEntries(
    [null, 1, true, [claims["sub"]], { $ne: "" }, "", "__proto__"].flatMap((value) => [
      [`sub ${JSON.stringify(value)}`, signed(hs256, payload({ sub: value }))],
      [`sid ${JSON.stringify(value)}`, signed(hs256, payload({ sid: value }))],
    ]),
  ),
  // The end.
  ...Object.fromEntries(
    [
      ...["null", "true", "false", '""', `"${now + 3_600}"`, '"never"', `[${now + 3_600}]`, "{}"],
      ...[
        "0",
        "-0",
        "-1",
        `-${now + 3_600}`,
        `${now - 1}`,
        `${now + 3_600}.5`,
        "1e400",
        "-1e400",
        "1e300",
        "9007199254740993",
      ],
    ].map((text) => [`exp ${text}`, signed(hs256, expAs(text))]),
  ),
  "exp twice, the last past": signed(
    hs256,
    payload({ exp: undefined }).replace(/}$/, `,"exp":${now + 3_600},"exp":${now - 1}}`),
  ),
  "a beginning in the future": signed(hs256, payload({ nbf: now + 3_600 })),
  "a beginning that is no number": signed(hs256, payload({ nbf: "now" })),
  // The signature.
  "no signature": `${realHeader}.${realPayload}.`,
  "no third part": `${realHeader}.${realPayload}`,
  ...Object.fromEntries(
    [1, 2, 16, 31].map((bytes) => [
      `a signature of ${bytes} bytes`,
      `${realHeader}.${realPayload}.${encode(Buffer.from(realSignature, "base64url").subarray(0, bytes))}`,
    ]),
  ),
  "a signature with a byte more": `${realHeader}.${realPayload}.${encode(Buffer.concat([Buffer.from(realSignature, "base64url"), Buffer.from([0])]))}`,
  "a signature of zeros": `${realHeader}.${realPayload}.${encode(new Uint8Array(32))}`,
  "a signature in hexadecimal": `${realHeader}.${realPayload}.${Buffer.from(realSignature, "base64url").toString("hex")}`,
  ...Object.fromEntries(
    Array.from({ length: 32 }, (_, byte) => [`byte ${byte} of the signature is another`, flipped(byte)]),
  ),
  // The spelling: one token has one text.
  "a signature in plain base64": plain(oddLetter),
  "padding behind the signature": `${real}=`,
  "padding behind each part": real
    .split(".")
    .map((part) => `${part}==`)
    .join("."),
  "stray bits at the end": real.replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1)),
  "a fourth part": `${real}.`,
  "a fourth part with text": `${real}.${realSignature}`,
  "five parts, as of an encrypted token": `${encode('{"alg":"dir","enc":"A128GCM"}')}..${encode("iv")}.${encode("text")}.${encode("tag")}`,
  "a part in front": `.${real}`,
  "an empty payload": `${realHeader}..${realSignature}`,
  "only dots": "..",
  "parts in another order": `${realPayload}.${realHeader}.${realSignature}`,
  "a stray letter in the payload": `${realHeader}.${realPayload}!.${realSignature}`,
  "an encoded dot": real.replace(".", "%2E"),
  "the token twice": `${real}${real}`,
  "two tokens": `${real}, ${another}`,
  "the word Bearer twice": `Bearer ${real}`,
  "quotes around": `"${real}"`,
  "the JSON form of a signature": encode(
    JSON.stringify({ payload: realPayload, protected: realHeader, signature: realSignature }),
  ),
};

/** The statuses of the ways in that look at an access token. */
async function statuses(token: string): Promise<number[]> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const answers = await Promise.all([
    fetch(`${server.url}/api/auth/me`, { headers }),
    fetch(`${server.url}/api/notes`, { headers }),
    fetch(`${server.url}/api/notes`, { method: "POST", headers, body: '{"text":"forged"}' }),
    fetch(`${server.url}/api/realtime?token=${encodeURIComponent(token)}`, {
      headers: {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
      },
    }),
  ]);
  return answers.map(({ status }) => status);
}

test.each(Object.entries(controls))("a token %s is accepted", async (_name, token) => {
  expect((await statuses(token)).slice(0, 3)).toEqual([200, 200, 201]);
});

test("each forged token is 401 on each way in, and writes nothing", async () => {
  const notes = async (): Promise<number> => {
    const answer = await fetch(`${server.url}/api/notes?limit=1&count=exact`, {
      headers: { Authorization: `Bearer ${real}` },
    });
    return ((await answer.json()) as { total: number }).total;
  };
  const before = await notes();
  expect(before).toBe(Object.keys(controls).length);
  const taken: [string, number[]][] = [];
  for (const [name, token] of Object.entries(forged)) {
    const seen = await statuses(token);
    if (seen.join() !== "401,401,401,401") taken.push([name, seen]);
  }
  expect(taken).toEqual([]);
  expect(await notes()).toBe(before);
});

test("a forged token ends no session: the victim's token goes on", async () => {
  for (const token of Object.values(forged)) {
    const headers = { Authorization: `Bearer ${token}` };
    expect((await fetch(`${server.url}/api/auth/logout`, { method: "POST", headers })).status).toBe(401);
  }
  expect((await statuses(real)).slice(0, 2)).toEqual([200, 200]);
  expect((await statuses(another)).slice(0, 2)).toEqual([200, 200]);
});
