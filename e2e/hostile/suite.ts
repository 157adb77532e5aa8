/**
 * The hostile suite: each attack on a fresh service, with a bystander beside the attack; the service's memory, descriptors and disk
 * use before, during and after. The long form is `npm run test:hostile`, the short form is a test.
 */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileForm, formType } from "../../packages/server/test/forms.ts";
import { png } from "../../packages/server/test/images.ts";
import { post, project, type Running, serve } from "../kit.ts";
import { Bystander, type Latencies, Peaks, type Sample, sample } from "./measure.ts";
import type { Target } from "./raw.ts";
import { codeOf } from "./user-code.ts";

const open = { read: "public", create: "authenticated", update: "authenticated", delete: "admin" };
const collections = [
  { name: "notes", fields: [{ name: "text", type: "text" }], permissions: open },
  {
    name: "few",
    fields: [
      { name: "text", type: "text" },
      { name: "n", type: "integer" },
    ],
    permissions: open,
  },
  {
    name: "big",
    fields: [
      { name: "text", type: "text" },
      { name: "n", type: "integer" },
    ],
    permissions: open,
  },
  {
    name: "pages",
    fields: [
      { name: "text", type: "text" },
      { name: "n", type: "integer" },
    ],
    permissions: open,
  },
  { name: "links", fields: [{ name: "to", type: "relation", collection: "big" }], permissions: open },
  { name: "posts", fields: [{ name: "title", type: "string" }], permissions: open },
  {
    name: "comments",
    fields: [
      { name: "body", type: "text" },
      { name: "post", type: "relation", collection: "posts" },
    ],
    permissions: open,
  },
  {
    name: "articles",
    fields: [
      { name: "title", type: "text" },
      { name: "text", type: "text" },
    ],
    search: ["title", "text"],
    permissions: open,
  },
  { name: "threads", fields: [{ name: "text", type: "text" }], permissions: { ...open, delete: "authenticated" } },
  { name: "tries", fields: [{ name: "text", type: "text" }], permissions: open },
  {
    name: "replies",
    fields: [{ name: "to", type: "relation", collection: "threads", onDelete: "cascade" }],
    permissions: open,
  },
];

/** Bounds as set by an operator that lets strangers upload. */
const config = {
  trustedProxies: 1,
  limits: { body: "2MiB", storagePerUser: "200MiB" },
  events: { maxBytes: "64MiB" },
};

/**
 * MiB: the memory during an attack, above the memory of the idle service; the memory afterwards, above the memory of the service
 * with the data before the attack; the size of the write-ahead log.
 */
export const allowedMiB = { memory: 256, kept: 40, log: 192 } as const;

export interface Size {
  /** Seconds of an attack. */
  readonly seconds: number;
  /** The part of the attack's connections. */
  readonly share: number;
  /** Records of about 1 MB, and of 10 KB. */
  readonly big: number;
  readonly pages: number;
  /** Seconds for the service to release memory after the preparation of the data. */
  readonly rest: number;
  /** Seconds between the attack and the last look at the service. */
  readonly recovery: number;
}

export interface Outcome {
  readonly name: string;
  /** After the start, before the data. */
  readonly idle: Sample;
  /** With the data, before the attack. */
  readonly before: Sample;
  /** The most of each during the attack. */
  readonly peak: Sample;
  /** After the recovery. */
  readonly after: Sample;
  readonly bystander: Latencies;
  /** The output of the service. */
  readonly output: string;
  /** The attacker's exit code; not 0 when the attack reached another user. */
  readonly attackCode: number | null;
  /** The service's exit code: 0 when the same process ran to the end and stopped well. */
  readonly exitCode: number | null;
}

interface Prepared {
  readonly target: Target;
  readonly bystander: { readonly token: string; readonly record: string };
}

/** Users, records and files that the attacks work on. */
async function prepare({ url }: Running, size: Size): Promise<Prepared> {
  const tokens: string[] = [];
  let refreshToken = "";
  const crowd = Array.from({ length: 8 }, (_, n) => `crowd-${n}`);
  for (const name of [...crowd, "attacker", "uploader", "bystander"]) {
    const answer = await post(`${url}/api/auth/register`, {
      email: `${name}@example.com`,
      password: "a long password",
    });
    const user = (await answer.json()) as { accessToken: string; refreshToken: string };
    tokens.push(user.accessToken);
    if (name === "attacker") refreshToken = user.refreshToken;
  }
  const token = tokens.at(-1) ?? "";
  const headers = { Authorization: `Bearer ${token}` };
  const create = async (collection: string, body: object): Promise<string> => {
    const answer = await post(`${url}/api/${collection}`, body, headers);
    if (answer.status !== 201) throw new Error(`${collection}: ${answer.status} ${await answer.text()}`);
    return ((await answer.json()) as { id: string }).id;
  };
  const fill = async (collection: string, count: number, length: number): Promise<string> => {
    let id = "";
    const text = "x".repeat(length);
    for (let n = 0; n < count; n += 16)
      [id = ""] = await Promise.all(
        Array.from({ length: Math.min(16, count - n) }, (_, i) => create(collection, { text, n: n + i })),
      );
    return id;
  };
  const large = await fill("big", size.big, 1_000_000);
  await fill("pages", size.pages, 10_000);
  await fill("few", 50, 40);
  for (let n = 0; n < 16; n++) await create("links", { to: large });
  const record = await create("notes", { text: "first" });
  const upload = await fetch(`${url}/api/storage/upload`, {
    method: "POST",
    headers: { ...headers, "Content-Type": formType },
    body: fileForm(png(1_600, 1_200), { filename: "a.png", visibility: "public" }),
  });
  const image = ((await upload.json()) as { url: string }).url;
  const made = { large, image, refreshToken, since: `evt_${"0".repeat(25)}` };
  return {
    target: {
      url,
      address: "198.51.100.66",
      tokens: tokens.slice(crowd.length),
      crowd: tokens.slice(0, crowd.length),
      made,
    },
    bystander: { token, record },
  };
}

/**
 * One attack on a fresh service. Resolves when the attack is over; `outcome`, when the recovery is: the next attack may run
 * meanwhile, because the service only waits.
 * @param wrap puts a process into a cgroup.
 */
export async function suffer(
  name: string,
  size: Size,
  wrap: (pid: number) => void = () => undefined,
): Promise<{ readonly outcome: Promise<Outcome> }> {
  const cwd = await project({ collections, config });
  for (const [path, code] of Object.entries(codeOf[name] ?? {})) {
    await mkdir(join(cwd, dirname(path)), { recursive: true });
    await Bun.write(join(cwd, path), code);
  }
  const server = await serve(cwd);
  wrap(server.pid);
  const take = (): Promise<Sample> => sample(server.pid, cwd);
  const idle = await take();
  const { target, bystander: who } = await prepare(server, size);
  await Bun.sleep(size.rest * 1_000);
  const before = await take();
  const peaks = new Peaks(take);
  const bystander = new Bystander({ url: server.url, ...who });
  const attacker = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, "attacker.ts"),
      name,
      String(size.seconds),
      String(size.share),
      JSON.stringify(target),
    ],
    { stdout: "ignore", stderr: "inherit" },
  );
  const giveUp = setTimeout(() => attacker.kill("SIGKILL"), (size.seconds + 20) * 1_000);
  await attacker.exited;
  clearTimeout(giveUp);
  const latencies = await bystander.stop();
  const peak = await peaks.stop();
  const recover = async (): Promise<Outcome> => {
    await Bun.sleep(size.recovery * 1_000);
    const after = await take();
    const exitCode = await server.stop();
    const attackCode = attacker.exitCode;
    return { name, idle, before, peak, after, bystander: latencies, output: server.output(), attackCode, exitCode };
  };
  return { outcome: recover() };
}
