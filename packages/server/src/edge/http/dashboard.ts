/** The dashboard under `/_/` (spec, "Dashboard"): a single-page app of static files, with the headers that fence the app in. */
import { typeOfName } from "../../files/storage/index.ts";
import type { Exchange } from "./exchange.ts";
import { accepts, answerSiteFile, type Coding } from "./file-response.ts";
import { namesOf } from "./static-files.ts";

/** The page on which a browser sets up the first admin. */
export const dashboardSetupPath = "/_/setup";
/** The first page. */
export const dashboardPath = "/_/";

/** A build of the dashboard: inside the executable, or in a folder. */
interface DashboardFiles {
  /** Whether a path like "/assets/app.js" leads to a file; `/` is the index page. */
  has(pathname: string): Promise<boolean>;
  /** Answers the file at a path; the headers come on top of the headers of the file. */
  answer(exchange: Exchange, pathname: string, headers: Readonly<Record<string, string>>): Promise<Response>;
}

/**
 * Nothing but the dashboard's own files and the API of the same origin, sockets included (CSP 3, "self"). Styles are
 * inline because the component library sets styles on elements, small fonts because the build puts fonts into the styles;
 * scripts never are.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  // Sound and films of protected files, which only a request with a token brings.
  "media-src 'self' blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const fence = {
  "Content-Security-Policy": policy,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Frame-Options": "DENY",
};

/** A file with a name that changes with the content: eight characters of a hash before the ending. */
const hashed = /-[\w-]{8}\.\w+$/;
const forever = "public, max-age=31536000, immutable";

export class Dashboard {
  readonly #files: DashboardFiles;

  constructor(files: DashboardFiles) {
    this.#files = files;
  }

  static owns(pathname: string): boolean {
    return pathname === "/_" || pathname.startsWith("/_/");
  }

  /** A file; the index page for any other path (spec, "Dashboard"), because the app does the routing. */
  async answer(exchange: Exchange, pathname: string): Promise<Response> {
    if (pathname === "/_") {
      // Relative: a proxy may have put something before the path.
      const query = exchange.search === "" ? "" : `?${exchange.search}`;
      return exchange.respond(308, null, { ...fence, Location: `./_/${query}` });
    }
    const path = pathname.slice("/_".length);
    if (!path.endsWith("/") && (await this.#files.has(path))) {
      const caching = namesOf(path)?.[0] === "assets" && hashed.test(path) ? forever : "no-cache";
      return this.#files.answer(exchange, path, { ...fence, "Cache-Control": caching });
    }
    return this.#files.answer(exchange, "/", { ...fence, "Cache-Control": "no-cache" });
  }
}

/** The format of `scripts/embed-dashboard.ts`. */
export interface EmbeddedBuild {
  /** The path of the file that holds the bytes of all files. */
  readonly bytes: string;
  /** Milliseconds since 1970. */
  readonly builtAt: number;
  /** The files by path, for example "assets/app.js". */
  readonly files: {
    readonly [path: string]: {
      /** Differs with the content. */
      readonly digest: string;
      /** The places of the file's codings in the bytes. Best first; the last is the plain file. */
      readonly parts: readonly { readonly coding: Coding | null; readonly start: number; readonly end: number }[];
    };
  };
}

/** The files of a build inside the executable: compressed by the build, and read on demand. */
export class EmbeddedFiles {
  readonly #build: EmbeddedBuild;

  constructor(build: EmbeddedBuild) {
    this.#build = build;
  }

  async has(pathname: string): Promise<boolean> {
    return this.#nameOf(pathname) !== null;
  }

  answer(exchange: Exchange, pathname: string, headers: Readonly<Record<string, string>>): Promise<Response> {
    const name = this.#nameOf(pathname) ?? "index.html";
    const { digest = "", parts = [] } = this.#build.files[name] ?? {};
    const { headers: asked } = exchange.request;
    const accepted = asked.get("accept-encoding");
    // Parts are parts of the plain file: a request for a part is not answered compressed.
    const part = parts.find(({ coding }) => coding === null || (!asked.has("range") && accepts(accepted, coding)));
    if (part === undefined) throw new Error(`The executable lacks ${name}`);
    const { coding, start, end } = part;
    const file = {
      body: Bun.file(this.#build.bytes).slice(start, end),
      size: end - start,
      etag: coding === null ? `"${digest}"` : `"${digest}-${coding}"`,
      modifiedAt: this.#build.builtAt,
      coding,
      mimeType: typeOfName(name),
    };
    return answerSiteFile(exchange, file, headers);
  }

  /** The plain text of a file. @param name of a file of the build. */
  text(name: string): Promise<string> {
    const plain = this.#build.files[name]?.parts.at(-1);
    if (plain === undefined) throw new Error(`The executable lacks ${name}`);
    return Bun.file(this.#build.bytes).slice(plain.start, plain.end).text();
  }

  #nameOf(pathname: string): string | null {
    const name = pathname === "/" ? "index.html" : namesOf(pathname)?.join("/");
    return name !== undefined && Object.hasOwn(this.#build.files, name) ? name : null;
  }
}
