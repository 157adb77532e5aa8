/** The files of a script process: loads scripts with the middlewares, and puts changed versions in use together. */
import { join } from "node:path";
import {
  type ChildOptions,
  type CodeFile,
  type FoundHandler,
  type Loaded,
  lateLoad,
  loadLimitMs,
} from "../protocol.ts";
import { middlewarePaths } from "../script-files.ts";
import { Code } from "./code.ts";
import type { Errors } from "./errors.ts";
import { exportsOf, type Module } from "./exports.ts";
import { defineGlobals } from "./globals.ts";
import { type Middleware, middlewareOf } from "./middleware.ts";
import { HandlerCalls, shapeOf } from "./shapes.ts";

/** A part of the limit of a load. */
const turnMs = 100;

interface LoadedFile {
  readonly module: Module;
  /** The middlewares of an endpoint, the outermost first. */
  readonly middlewares: readonly Middleware[];
  /** Of a function file. */
  readonly handlers?: readonly FoundHandler[];
}

export interface LoaderOptions extends ChildOptions {
  /** Whether a debugger may pause the process: a load has no time limit. */
  readonly isDebugged: boolean;
}

export class Loader {
  readonly #root: string;
  readonly #isDebugged: boolean;
  readonly #errors: Errors;
  readonly #calls: HandlerCalls;
  /** Resolves when modules can be loaded. */
  #code: Promise<Code | null> = Promise.resolve(null);
  /** The absolute paths of the modules that this process has imported: scripts and middlewares. */
  readonly #entries = new Set<string>();
  /** The loaded files in use. */
  readonly #files = new Map<string, LoadedFile>();
  /** The files that were loaded after a change; null when the service has adopted the change. */
  #changed: Map<string, LoadedFile> | null = null;
  /** The absolute paths of modules, by the path in the project: a link may lead elsewhere by now. */
  #places: ReadonlyMap<string, string> = new Map();

  constructor({ root, isDebugged }: LoaderOptions, errors: Errors) {
    this.#root = root;
    this.#isDebugged = isDebugged;
    this.#errors = errors;
    this.#calls = new HandlerCalls((error) => errors.fileOf(error));
    defineGlobals(this.#calls.functions);
  }

  /** The content of all modules. */
  use(files: readonly CodeFile[]): void {
    this.#code = Code.use(this.#root, files);
    this.#places = new Map(files.map(({ path, real }) => [path, real]));
  }

  /** New content of modules. Files that are loaded from here on are in use from `adopt` on. */
  change(files: readonly CodeFile[]): void {
    this.#changed = new Map();
    this.#code = this.#code.then(async (code) => {
      const dropped = new Set(await code?.change(files, this.#entries));
      for (const [path, place] of this.#places) if (dropped.has(place)) this.#calls.forget(path);
      return code;
    });
  }

  adopt(): void {
    for (const [path, file] of this.#changed ?? []) this.#files.set(path, file);
    this.#changed = null;
  }

  /** The version of a file in use. */
  file(path: string): LoadedFile | undefined {
    return this.#files.get(path);
  }

  /** Loads a file. Never rejects. */
  async load(path: string): Promise<Loaded> {
    try {
      const loading = this.#loadFile(path);
      const file = await (this.#isDebugged ? loading : Promise.race([loading, late()]));
      (this.#changed ?? this.#files).set(path, file);
      return { exports: { ...exportsOf(file.module), ...(file.handlers && { handlers: file.handlers }) } };
    } catch (thrown) {
      return { error: this.#errors.describe(thrown) };
    }
  }

  async #loadFile(path: string): Promise<LoadedFile> {
    await this.#code;
    const middlewares = await Promise.all(this.#middlewaresOf(path));
    const module = await this.#import(path);
    const shape = path.startsWith("functions/") ? shapeOf(path, module, this.#calls.of(path)) : { module };
    return { middlewares, ...shape };
  }

  #import(path: string): Promise<Module> {
    const place = this.#places.get(path) ?? join(this.#root, path);
    this.#entries.add(place);
    return import(place);
  }

  /** The middlewares of a file, each being loaded. An endpoint does not load without its middlewares: a middleware may check callers. */
  #middlewaresOf(path: string): Promise<Middleware>[] {
    const present = middlewarePaths(path).filter((each) => this.#places.has(each));
    return present.map(async (each) => {
      try {
        return middlewareOf(each, await this.#import(each));
      } catch (thrown) {
        throw new Error(`its middleware ${each} does not load: ${this.#errors.describe(thrown).message}`);
      }
    });
  }
}

/** Rejects after the limit of a load. Turns of the event loop are counted: the time in which a busy machine does not run this process does not count. */
async function late(): Promise<never> {
  for (let waited = 0; waited < loadLimitMs; waited += turnMs) await Bun.sleep(turnMs);
  throw new Error(lateLoad);
}
