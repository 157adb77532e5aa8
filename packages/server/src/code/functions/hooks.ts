/**
 * Hooks: handlers that see a record before a write, or a user before a registration or login, and may refuse the write
 * (contract, "Hooks and endpoints").
 */

import { USERS } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import {
  Admission,
  AppError,
  actorOf,
  appErrorOf,
  type Clock,
  chainOf,
  codeOf,
  depthOf,
  hookFor,
  isObject,
  maxDepth,
  messageOf,
  newId,
  previewOf,
} from "../../base/kernel/index.ts";
import { FailureBudget, Histogram, type Logger } from "../../base/logging/index.ts";
import type { Collections } from "../../data/collections/index.ts";
import type { HookDecision, HookedChange, RecordHooks } from "../../data/records/index.ts";
import type { Auth, AuthHooks, AuthStep, PasswordCaller, StepReads } from "../../people/auth/index.ts";
import type { Failures } from "../../store/failures/index.ts";
import type { BrokenScript, CallOutcome, Read, Reads, RunInput, Script, ScriptHost } from "../script-host/index.ts";
import { chainTooLong, type Hook, type HookFiles, hooksOf } from "./function-file.ts";

/** Changes with hooks that run at a time, for each script process; a caller has three quarters of the number. */
const widthPerProcess = 128;
/** Changes that wait for a turn; a caller has half of the number. */
const maxWaiting = 4_096;
/**
 * Changes with hooks that run at a time because other hooks made the changes. These changes do not wait: the other
 * hooks wait for the result.
 */
const maxNested = 1_024;
/** How long a change waits for a turn, and then each hook for the start of the handler. The time of handlers has another bound. */
const patienceMs = 5_000;
/** The most questions about a change whose hooks refuse by reads that have changed. */
const maxTorn = 20;
/** Bytes that a change takes beside the record. */
const baseBytes = 4_096;

const tooMany = "Too many writes wait for hooks. Try again in a moment.";

export interface HooksOptions {
  readonly auth: Auth;
  readonly clock: Clock;
  readonly failures: Failures;
  readonly logger: Logger;
  readonly config: Config;
  readonly processes: number;
  readonly host: Pick<ScriptHost, "call">;
  readonly reads: Pick<Reads, "changed" | "refreshed" | "changedOutside">;
  readonly collections: Pick<Collections, "all" | "successorsOf">;
}

/** A change of a record, or a step of a user, that hooks are asked about. */
interface HookQuestion extends Omit<HookedChange, "operation"> {
  readonly operation: Hook["operation"];
  /** The request of a step of a user. */
  readonly request?: Pick<RunInput, "caller" | "headers">;
}

/** A call of a hook, by its run. */
interface HookCall {
  readonly runId: string;
  /** The id of the record, if the record has one. */
  readonly record: string | null;
  readonly isPreview: boolean;
}

type HookValues = Readonly<Record<string, unknown>>;

export class Hooks implements RecordHooks, AuthHooks {
  readonly hooked = {
    create: new Set<string>(),
    update: new Set<string>(),
    delete: new Set<string>(),
    register: new Set<string>(),
    login: new Set<string>(),
  };
  readonly timeoutMs: number;
  readonly #options: HooksOptions;
  /** The records that wait for hooks. */
  readonly #bytes: Admission;
  readonly #turns: Admission;
  readonly #nested = new Admission({ limit: "hooks", message: tooMany, width: maxNested, maxWaiting: 0 });
  readonly #failures = new FailureBudget((failures) =>
    this.#options.logger.error(`${failures} more calls of hooks have failed in a minute`),
  );
  #hooks: readonly Hook[] = [];
  #files: HookFiles = { scripts: [], broken: [] };

  constructor(options: HooksOptions) {
    const { config, processes } = options;
    this.timeoutMs = config["scripts.hookTimeout"];
    this.#options = options;
    const maxBytes = config["limits.hooks"];
    const width = widthPerProcess * processes;
    const bound = { limit: "hooks", message: tooMany } as const;
    this.#bytes = new Admission({ ...bound, width: maxBytes, share: maxBytes / 2, maxWaiting: 0 });
    const waiting = { maxWaiting, waitingShare: maxWaiting / 2, patienceMs };
    this.#turns = new Admission({ ...bound, width, share: width * 0.75, ...waiting });
  }

  /** Every hook in force, by file. */
  list(): readonly Hook[] {
    return this.#hooks;
  }

  use(scripts: readonly Script[], broken: readonly BrokenScript[]): void {
    this.#files = { scripts, broken };
    this.#find();
    for (const { refusal } of this.#hooks) if (refusal !== null) this.#options.logger.error(refusal.notice);
  }

  /** Finds the hooks of renamed collections, which refuse until the folder has the new name. */
  followCollections(): void {
    const former = new Set(this.#hooks.map(({ refusal }) => refusal?.notice));
    this.#find();
    for (const { refusal } of this.#hooks)
      if (refusal !== null && !former.has(refusal.notice)) this.#options.logger.error(refusal.notice);
  }

  #find(): void {
    this.#hooks = hooksOf(this.#files, this.#options.collections, this.#hooks);
    for (const collections of Object.values(this.hooked)) collections.clear();
    for (const { collection, operation } of this.#hooks) this.hooked[operation].add(collection);
  }

  /** @throws AppError `unavailable` or `conflict`. */
  async run(change: HookedChange): Promise<HookDecision> {
    const { reads, usesEarlier, refusal } = await this.#askUntilWhole(change);
    // The hooks of a preview see the changes of the preview, which no later look would find.
    return { refusal, usesEarlier, ...this.#looksAt(previewOf(change.principal) === null ? reads : []) };
  }

  /** Looks at the reads of hooks again, later. */
  #looksAt(reads: readonly Read[]): Pick<HookDecision, "hasReads" | "refresh" | "changed"> {
    let known = reads;
    return {
      hasReads: reads.length > 0,
      refresh: async () => {
        const looked = await this.#options.reads.refreshed(known);
        if ("key" in looked) return looked.key;
        known = looked.reads;
        return null;
      },
      changed: (until) => this.#options.reads.changed(known, until),
    };
  }

  /** Asks again as long as a hook has refused by reads that others have changed meanwhile. */
  async #askUntilWhole(question: HookQuestion): Promise<HookOutcome> {
    for (let times = 1; ; times += 1) {
      try {
        return await this.#askInShare(question);
      } catch (thrown) {
        if (!(thrown instanceof TornReads)) throw thrown;
        if (times === maxTorn) throw tornAgain();
      }
    }
  }

  /** @throws AppError as `run`, and the refusal of a hook. */
  async before(
    step: AuthStep,
    user: HookValues,
    { key: address, headers = new Headers() }: PasswordCaller,
  ): Promise<StepReads | null> {
    if (this.hooked[step].size === 0) return null;
    // Loaded on demand: a service without such hooks does not need the module.
    const { isDeepStrictEqual } = await import("node:util");
    const accept = (returned: HookValues): HookValues => {
      const changed = Object.keys(returned).filter((name) => !isDeepStrictEqual(returned[name], user[name]));
      if (changed.length === 0) return user;
      throw new Error(`it returned ${changed.join(", ")}, but cannot change a user`);
    };
    const previous = step === "login" ? user : null;
    const change = { collection: USERS, operation: step, record: user, previous, principal: null, accept };
    const request = { caller: { address, user: null }, headers: Object.fromEntries(headers) };
    const bytes = JSON.stringify([user, request]).length;
    const asked = { ...change, earlier: null, bytes, caller: address, request };
    const { reads, refusal } = await this.#askUntilWhole(asked);
    if (refusal !== null) throw refusal;
    return reads.length === 0 ? null : this.#looksAt(reads);
  }

  /** A change of a hook waits for no turn: the hook waits for the change. */
  #askInShare(question: HookQuestion): Promise<HookOutcome> {
    const { principal, caller, bytes } = question;
    const turns = codeOf(principal)?.isHook === true ? this.#nested : this.#turns;
    const ask = (): Promise<HookOutcome> => turns.run(() => this.#ask(question), { caller });
    return this.#bytes.run(ask, { caller, size: bytes + baseBytes });
  }

  /** Asks the hooks in order. Answers the reads of all hooks. */
  async #ask(question: HookQuestion): Promise<HookOutcome> {
    const { collection, operation, previous } = question;
    const chain = chainOf(question.principal);
    const actor = actorOf(question.principal);
    const user = this.#options.auth.callers.actor(actor);
    let { record } = question;
    const reads: Read[] = [];
    let usesEarlier = false;
    let leftMs = this.timeoutMs;
    const isPreview = previewOf(question.principal) !== null;
    for (const each of this.#hooks) {
      if (each.collection !== collection || each.operation !== operation) continue;
      const hook = isPreview ? uncounted(each) : each;
      const { path, handler, refusal } = hook;
      if (depthOf(question.principal) >= maxDepth)
        throw chainTooLong(
          `${handler} of ${collection}; the ${operation} is refused. Does a hook make changes that run the same hook?`,
        );
      const runId = newId("run", this.#options.clock.now());
      const id = typeof record["id"] === "string" ? record["id"] : null;
      const call = { runId, record: id, isPreview };
      if (refusal !== null) throw this.#fail(hook, { ...call, reason: refusal.reason });
      const calledAt = performance.now();
      const start: { at: number | null } = { at: null };
      const outcome = await this.#options.host.call("hooks", {
        path,
        handler,
        timeoutMs: Math.max(1, leftMs),
        patienceMs,
        onStart: () => {
          start.at = performance.now();
        },
        input: { ...question.request, runId, attempt: 1, user, chain, record, previous },
        earlier: question.earlier,
        principal: hookFor(question.principal, `${path}:${handler}`),
      });
      // The file was deleted a moment ago.
      if (outcome.status === "gone" && !this.#hooks.includes(each)) continue;
      const endedAt = performance.now();
      leftMs -= endedAt - (start.at ?? endedAt);
      hook.durations.observe(endedAt - calledAt);
      if (outcome.status === "late" && start.at === null)
        throw this.#fail(hook, { ...call, reason: `it waited longer than ${patienceMs / 1_000} s for its start` });
      // A refusal may follow from reads of different moments.
      reads.push(...("reads" in outcome ? (outcome.reads ?? []) : []));
      usesEarlier ||= "usesEarlier" in outcome;
      if (outcome.status === "refused") {
        if (!isPreview && (await this.#isTorn(reads))) throw new TornReads();
        hook.calls.refused += 1;
        return { reads, usesEarlier, refusal: appErrorOf(outcome.refusal) };
      }
      const returned = this.#returned(hook, call, outcome);
      const accepted = returned && this.#accepted(hook, call, () => question.accept(returned));
      if (accepted instanceof AppError) return { reads, usesEarlier, refusal: accepted };
      record = accepted ?? record;
      hook.calls.passed += 1;
    }
    return { reads, usesEarlier, refusal: null };
  }

  async #isTorn(reads: readonly Read[]): Promise<boolean> {
    return reads.length > 0 && "key" in (await this.#options.reads.changedOutside(reads));
  }

  /** The record with the returned values, or the refusal of these values. An error that is no `AppError` is the hook's. */
  #accepted(hook: Hook, call: HookCall, accept: () => HookValues): HookValues | AppError {
    try {
      return accept();
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw this.#fail(hook, { ...call, reason: messageOf(thrown) });
      hook.calls.failed += 1;
      return thrown;
    }
  }

  /** The values that a hook has returned; null without values. @throws AppError. */
  #returned(
    hook: Hook,
    call: HookCall,
    outcome: Exclude<CallOutcome, { status: "refused" }>,
  ): Record<string, unknown> | null {
    if (outcome.status === "answered") {
      const value: unknown = JSON.parse(outcome.value);
      if (value === null || isObject(value)) return value;
      throw this.#fail(hook, { ...call, reason: `it returned ${outcome.value.slice(0, 100)}, which is no object` });
    }
    if (outcome.status === "failed")
      throw this.#fail(hook, { ...call, reason: outcome.error.message, stack: outcome.error.stack });
    let reason = "the process of the hook has ended";
    if (outcome.status === "late") reason = `it took longer than ${this.timeoutMs / 1_000} s`;
    if (outcome.status === "lost") reason = `it ${outcome.message}`;
    throw this.#fail(hook, { ...call, reason });
  }

  /** Logs why a hook did not decide. The caller is not told the reason: the caller made no mistake. */
  #fail(hook: Hook, why: HookCall & { readonly reason: string; readonly stack?: string | undefined }): AppError {
    const { path, handler, collection } = hook;
    const { reason, record, isPreview, ...fields } = why;
    const { clock, failures } = this.#options;
    hook.calls.failed += 1;
    // Nothing of a preview stays.
    if (!isPreview) failures.note({ kind: "hook", path, error: reason, at: clock.now(), run: why.runId, record });
    if (this.#failures.take())
      this.#options.logger.error(`${handler} of ${path} failed, ${refusedBy(hook)} is refused: ${reason}`, fields);
    return new AppError(
      "unavailable",
      `A hook of "${collection}" did not decide, so ${refusedBy(hook)} is refused. The log of the service says why.`,
    );
  }
}

/** A hook whose calls are not counted: those of a preview. */
function uncounted(hook: Hook): Hook {
  return { ...hook, calls: { passed: 0, refused: 0, failed: 0 }, durations: new Histogram() };
}

/** A hook has refused by reads that others have changed meanwhile. */
class TornReads extends Error {
  override readonly name = "TornReads";
}

function tornAgain(): AppError {
  const message = "The reads of a hook were changed by others again and again. Try again later.";
  return new AppError("conflict", message, { retryAfter: 1 });
}

/** The reads of all hooks of a change, whether a hook has looked at the earlier records, and the decision. */
interface HookOutcome {
  readonly reads: readonly Read[];
  readonly usesEarlier: boolean;
  /** Null when all hooks let the change pass. */
  readonly refusal: AppError | null;
}

/** The thing that a hook which does not decide refuses. */
function refusedBy({ operation }: Hook): string {
  if (operation === "register") return "the registration";
  return operation === "login" ? "the login" : "the write";
}
