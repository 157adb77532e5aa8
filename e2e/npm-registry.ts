/**
 * A registry of npm on the loopback address: takes packages by `npm publish`, and serves the packages to npm and npx. Requests for other
 * packages go to the registry of this machine's npm, if the test says so.
 */
import { afterAll } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./kit.ts";

/** The body of `npm publish`: a version, and its file in base64. */
interface Published {
  readonly name: string;
  readonly versions: { readonly [version: string]: { readonly dist: { tarball: string } } };
  readonly "dist-tags": Readonly<Record<string, string>>;
  readonly _attachments: { readonly [file: string]: { readonly data: string } };
}

export interface Registry {
  readonly url: string;
  /** The names in the order in which npm published the packages. */
  readonly published: readonly string[];
  /** A folder with settings for npm, as `HOME`. */
  readonly home: string;
  /** The variables of a user whose npm has this registry and an empty cache. */
  readonly env: Record<string, string>;
  stop(): Promise<void>;
}

/** Starts a registry. @param upstream the registry for packages that nobody published. */
export function startRegistry(upstream?: string): Registry {
  const packages = new Map<string, Omit<Published, "_attachments">>();
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const published: string[] = [];

  async function publish(name: string, request: Request): Promise<Response> {
    const { _attachments, ...given } = (await request.json()) as Published;
    const before = packages.get(name);
    const known = Object.keys(given.versions).filter((version) => before?.versions[version] !== undefined);
    if (known.length > 0) return Response.json({ error: `${known} is published already` }, { status: 403 });
    for (const [file, { data }] of Object.entries(_attachments)) {
      const place = `/-/files/${encodeURIComponent(file)}`;
      files.set(place, Uint8Array.fromBase64(data));
      for (const version of Object.values(given.versions)) version.dist.tarball = `${server.url.origin}${place}`;
    }
    packages.set(name, { ...given, versions: { ...before?.versions, ...given.versions } });
    published.push(name);
    return Response.json({ ok: true }, { status: 201 });
  }

  /** Asks the upstream for a package or a file; the addresses of files in the answer are those of this registry. */
  async function passOn(url: string): Promise<Response> {
    const answer = await fetch(url, { headers: { Accept: "application/json" } });
    if (answer.headers.get("content-type")?.includes("json") !== true) return answer;
    const text = (await answer.text()).replaceAll(/"tarball":"https?:\/\/[^/"]+/g, `"tarball":"${server.url.origin}`);
    return new Response(text, { status: answer.status, headers: { "Content-Type": "application/json" } });
  }

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 120,
    maxRequestBodySize: 512 * 1_024 ** 2,
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      const file = files.get(pathname);
      if (file !== undefined) return new Response(file);
      const name = decodeURIComponent(pathname.slice(1));
      if (request.method === "PUT") return publish(name, request);
      const found = packages.get(name);
      if (found !== undefined) return Response.json(found);
      if (upstream === undefined || request.method !== "GET")
        return Response.json({ error: "Not found" }, { status: 404 });
      const { origin, pathname: folder } = new URL(upstream);
      const isFile = pathname.startsWith(folder);
      return passOn(`${origin}${isFile ? "" : folder.replace(/\/$/, "")}${pathname}${search}`);
    },
  });
  const stop = (): Promise<void> => server.stop(true);
  afterAll(stop);

  const home = temporaryFolder();
  const settings = [
    `registry=${server.url.origin}/`,
    `//${server.url.host}/:_authToken=test`,
    ...["audit=false", "fund=false", "update-notifier=false", "progress=false"],
  ];
  writeFileSync(join(home, ".npmrc"), `${settings.join("\n")}\n`);
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, npm_config_cache: join(home, "cache") };
  return { url: server.url.origin, published, home, env, stop };
}
