/** Files inside the executable: compressed when it was made, and read only when they are asked for. */
import { typeOfName } from "../storage/index.ts";
import { accepts, type Coding, isCompressible } from "./encodings.ts";
import type { Exchange } from "./exchange.ts";
import { answerFile, contentType } from "./file-answer.ts";
import { namesOf } from "./static-files.ts";

/** The bytes of a file in a content coding, or as they are: a part of the one embedded file. */
interface Part {
  readonly coding: Coding | null;
  readonly start: number;
  readonly end: number;
}

/** Files, as `scripts/embed-dashboard.ts` packs them. */
export interface EmbeddedBuild {
  /** The path of the file that holds the bytes of all of them. */
  readonly bytes: string;
  /** Milliseconds since 1970. */
  readonly builtAt: number;
  /** By their path, such as "assets/app.js". */
  readonly files: {
    readonly [path: string]: {
      /** Differs with the content. */
      readonly digest: string;
      /** Best first; the last is the file as it is. */
      readonly parts: readonly Part[];
    };
  };
}

export class EmbeddedFiles {
  readonly #build: EmbeddedBuild;

  constructor(build: EmbeddedBuild) {
    this.#build = build;
  }

  /** Whether there is a file at a path; that of `/` is `index.html`. */
  has(pathname: string): boolean {
    return this.#nameOf(pathname) !== null;
  }

  /** Answers the file at a path that there is. */
  answer(exchange: Exchange, pathname: string, headers: Readonly<Record<string, string>>): Promise<Response> {
    const name = this.#nameOf(pathname) ?? "index.html";
    const { digest = "", parts = [] } = this.#build.files[name] ?? {};
    const { headers: asked } = exchange.request;
    const accepted = asked.get("accept-encoding");
    // Parts are those of the file as it is: a request for one is not answered compressed.
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
