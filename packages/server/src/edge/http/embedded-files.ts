/** Files inside the executable: compressed by the build, and read on demand. */
import { typeOfName } from "../../files/storage/index.ts";
import { accepts, type Coding, isCompressible } from "./encodings.ts";
import type { Exchange } from "./exchange.ts";
import { answerFile, contentType } from "./file-answer.ts";
import { namesOf } from "./static-files.ts";

/** The bytes of a file, plain or in a content coding: a part of the embedded file. */
interface Part {
  readonly coding: Coding | null;
  readonly start: number;
  readonly end: number;
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
      /** Best first; the last is the plain file. */
      readonly parts: readonly Part[];
    };
  };
}

export class EmbeddedFiles {
  readonly #build: EmbeddedBuild;

  constructor(build: EmbeddedBuild) {
    this.#build = build;
  }

  /** Whether a path leads to a file; `/` is `index.html`. */
  async has(pathname: string): Promise<boolean> {
    return this.#nameOf(pathname) !== null;
  }

  /** Answers the file at a path. */
  answer(exchange: Exchange, pathname: string, headers: Readonly<Record<string, string>>): Promise<Response> {
    const name = this.#nameOf(pathname) ?? "index.html";
    const { digest = "", parts = [] } = this.#build.files[name] ?? {};
    const { headers: asked } = exchange.request;
    const accepted = asked.get("accept-encoding");
    // Parts are parts of the plain file: a request for a part is not answered compressed.
    const part = parts.find(({ coding }) => coding === null || (!asked.has("range") && accepts(accepted, coding)));
    if (part === undefined) throw new Error(`The executable lacks ${name}`);
    const { coding, start, end } = part;
    const mimeType = typeOfName(name);
    return answerFile(exchange, {
      size: end - start,
      etag: coding === null ? `"${digest}"` : `"${digest}-${coding}"`,
      modifiedAt: this.#build.builtAt,
      headers: {
        "Content-Type": contentType(mimeType),
        ...(isCompressible(mimeType) && { Vary: "Accept-Encoding" }),
        ...(coding !== null && { "Content-Encoding": coding, "Accept-Ranges": "none" }),
        ...headers,
      },
      read: async (range) =>
        Bun.file(this.#build.bytes).slice(start + (range?.start ?? 0), range === null ? end : start + range.end),
    });
  }

  #nameOf(pathname: string): string | null {
    const name = pathname === "/" ? "index.html" : namesOf(pathname)?.join("/");
    return name !== undefined && Object.hasOwn(this.#build.files, name) ? name : null;
  }
}
