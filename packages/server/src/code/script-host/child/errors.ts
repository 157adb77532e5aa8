/** Errors of the user's code, described with the place in the user's files. */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import type { SourceExcerpt } from "@socle/protocol";
import type { CodeFile, ScriptError } from "../protocol.ts";

const framePattern = /^\s*at (?:(.*?) \()?((?:file:\/\/)?\/.*?|[A-Za-z]:[\\/].*?):(\d+):(\d+)\)?$/;

/** Lines of source before and after the place of an error, and the most characters of a line. */
const around = 2;
const maxColumns = 200;

/** The depth to which causes of causes are described. */
const maxCauses = 3;

export class Errors {
  readonly #root: string;
  /** The path in the project, by the runtime's path of a module. */
  #paths: ReadonlyMap<string, string> = new Map();
  /** The content of the modules at the load, by path. */
  #contents: ReadonlyMap<string, string> = new Map();

  constructor(root: string) {
    this.#root = root;
  }

  /** A module behind a link has another place on the disk. */
  use(files: readonly CodeFile[]): void {
    this.#paths = new Map(files.map(({ real, path }) => [real, path]));
    this.#contents = new Map(files.map(({ path, content }) => [path, content]));
  }

  /**
   * Never throws: a thrown object of the user's code may do anything during a read.
   * @param file the file of the handler, for a stack without frames: a call in a return leaves no frame.
   */
  describe(thrown: unknown, file?: string): ScriptError {
    try {
      return this.#describe(thrown, file, maxCauses);
    } catch {
      return { message: `Something was thrown that cannot be described${file === undefined ? "" : ` (${file})`}` };
    }
  }

  #describe(thrown: unknown, file: string | undefined, causes: number): ScriptError {
    if (isBuildProblem(thrown)) return { message: this.#buildProblem(thrown) };
    if (thrown instanceof AggregateError && thrown.errors.length > 0 && thrown.errors.every(isBuildProblem))
      return { message: thrown.errors.map((problem) => this.#buildProblem(problem)).join("; ") };
    if (!(thrown instanceof Error)) return { message: `${inspect(thrown)} was thrown, which is no Error` };
    const name = thrown.name === "" || thrown.name === "Error" ? "" : `${String(thrown.name)}: `;
    const frames = this.#frames(stackOf(thrown));
    const frame = frames.find((each) => !each.includes("node_modules"));
    const where = frame?.replace(/^at (?:.* \()?|\)$/g, "") ?? file;
    const message = cut(`${name}${String(thrown.message)}`, 2_000);
    const hasCause = thrown.cause !== undefined && causes > 0;
    const cause = hasCause ? `\nCaused by: ${this.#describe(thrown.cause, undefined, causes - 1).message}` : "";
    const source = this.#excerpt(where);
    return {
      message: where === undefined ? message : `${message} (${where})`,
      ...(source !== null && { source }),
      stack: cut([message, ...frames.map((frame) => `    ${frame}`)].join("\n") + cause, 8_000),
    };
  }

  /** The lines around a place such as `jobs/mail.ts:4:13`; null for a place outside of the loaded modules. */
  #excerpt(place = ""): SourceExcerpt | null {
    const [, filePath = "", row] = /^(.*):(\d+):\d+$/.exec(place) ?? [];
    const all = this.#contents.get(filePath)?.split(/\r?\n/);
    const line = Number(row);
    if (all === undefined || line < 1 || line > all.length) return null;
    const firstLine = Math.max(1, line - around);
    const lines = all.slice(firstLine - 1, line + around);
    return { filePath, line, firstLine, lines: lines.map((text) => cut(text, maxColumns)) };
  }

  /** The file that a stack points into first, relative to the project. */
  fileOf(thrown: unknown): string | null {
    for (const frame of this.#frames(stackOf(thrown))) {
      const file = /^at (?:.* \()?(.*?):\d+:\d+\)?$/.exec(frame)?.[1];
      if (file !== undefined && !file.includes("node_modules")) return file;
    }
    return null;
  }

  /** The frames inside the project, with paths relative to the project. */
  #frames(stack: string): string[] {
    const frames: string[] = [];
    for (const line of stack.split("\n")) {
      const [, name, file, row, column] = framePattern.exec(line) ?? [];
      if (file === undefined) continue;
      const path = this.#relative(file.replace(/^file:\/\//, ""));
      if (path === null) continue;
      const location = `${path}:${row}:${column}`;
      frames.push(name === undefined || name === "<anonymous>" ? `at ${location}` : `at ${name} (${location})`);
    }
    return frames;
  }

  #relative(file: string): string | null {
    const known = this.#paths.get(file);
    if (known !== undefined) return known;
    const path = relative(this.#root, file).replaceAll("\\", "/");
    return path.startsWith("..") || path === "" ? null : path;
  }

  #buildProblem(problem: BuildProblem): string {
    const { position } = problem;
    if (position !== null && position !== undefined)
      return `${problem.message} (${this.#relative(position.file) ?? position.file}:${position.line}:${position.column})`;
    const importer = problem.referrer ?? "";
    const path = this.#relative(importer);
    if (path === null) return problem.message;
    const message = problem.message.replace(/ imported from .*$/s, "").replace(/ from '.*'$/s, "");
    const location = lineOf(importer, problem.specifier ?? "");
    const isPackage = !/^[./]/.test(problem.specifier ?? "");
    const advice = isPackage ? `; install it with: socle add ${problem.specifier}` : "";
    return `${message} (${path}${location === null ? "" : `:${location}`})${advice}`;
  }
}

/** The error of the runtime for a file that cannot be compiled, or an import that leads nowhere. */
interface BuildProblem {
  readonly name: string;
  readonly message: string;
  readonly position?: { file: string; line: number; column: number } | null;
  readonly specifier?: string;
  readonly referrer?: string;
}

function stackOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.stack ?? "") : "";
  } catch {
    return "";
  }
}

function isBuildProblem(thrown: unknown): thrown is BuildProblem {
  const name = typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, "name") : undefined;
  return name === "BuildMessage" || name === "ResolveMessage";
}

/** The line of an import in a file, which the error of the runtime does not have. */
function lineOf(file: string, specifier: string): number | null {
  try {
    const lines = readFileSync(file, "utf8").split("\n");
    const at = lines.findIndex((line) => line.includes(`"${specifier}"`) || line.includes(`'${specifier}'`));
    return at < 0 ? null : at + 1;
  } catch {
    return null;
  }
}

function inspect(value: unknown): string {
  return cut(typeof value === "string" ? JSON.stringify(value) : Bun.inspect(value, { depth: 1 }), 200);
}

export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`;
}

/** A fault of a handler that the service has found: without frames, because frames of middlewares would name another file. */
export function handlerFault(message: string, options?: ErrorOptions): Error {
  const fault = new Error(message, options);
  fault.stack = message;
  return fault;
}

/** For messages: the kind of a value. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
