/**
 * The span exporter: sends spans in batches to a collector, as OTLP/JSON over HTTP. Nothing waits for the collector: spans wait in a bounded queue, and further
 * spans are dropped and counted. Answers count as the OTLP specification says: 429, 502, 503, 504 and no answer are tried again, any other refusal is final.
 */
import type { Config } from "../../base/config/index.ts";
import { messageOf } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { isSampled } from "../../store/events/index.ts";
import type { TracedSpan } from "./otlp-spans.ts";

/** Spans of a request. */
const maxBatch = 512;
const pauseMs = 1_000;
/** Pauses while the collector is away: 1 s, 2 s, … 60 s. */
const longestPauseMs = 60_000;
const answerMs = 10_000;

/** The outcome of a batch. `later`: the batch is sent again. `smaller`: the batch is too large for the collector. */
type Outcome =
  | { readonly kind: "taken"; readonly rejected: number }
  | { readonly kind: "later" | "final" | "smaller"; readonly reason: string };

interface SpanExporterOptions {
  readonly config: Config;
  /** The version of the service. */
  readonly version: string;
  readonly logger: Pick<Logger, "often" | "info">;
  /** Shortens the pauses and the wait for an answer, for tests. */
  readonly timeFactor?: number;
}

/** Numbers since the start. */
export interface SpanTotals {
  /** Spans that the collector has taken. */
  readonly sent: number;
  /** Spans that found no place, or that the collector has refused. */
  readonly dropped: number;
}

/** The percentage of the traces that are recorded: without a collector all, because other programs may record. */
export function sampledPercentOf(config: Config): number {
  return config["telemetry.otlp.url"] === undefined ? 100 : config["telemetry.otlp.sample"];
}

export class SpanExporter {
  readonly #options: SpanExporterOptions;
  readonly #url: string;
  readonly #headers: Record<string, string>;
  /** The beginning of a request, up to the spans. */
  readonly #head: string;
  readonly #timeFactor: number;
  /** The JSON of the spans, oldest first; a batch under way stays until the outcome. */
  readonly #waiting: string[] = [];
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #sending: Promise<void> | null = null;
  #isStopped = false;
  #batch = maxBatch;
  /** Failures since the last batch that the collector took. */
  #failures = 0;
  #sent = 0;
  #dropped = 0;

  constructor(url: string, options: SpanExporterOptions) {
    const { config, version, timeFactor = 1 } = options;
    this.#options = options;
    this.#url = `${url}/v1/traces`;
    // The configuration has written the text from an object of texts.
    const given: Record<string, string> = JSON.parse(config["telemetry.otlp.headers"]?.reveal() ?? "{}");
    this.#headers = { ...given, "content-type": "application/json" };
    this.#timeFactor = timeFactor;
    const resource = [
      { key: "service.name", value: { stringValue: config["telemetry.otlp.name"] } },
      { key: "service.version", value: { stringValue: version } },
    ];
    const scope = JSON.stringify({ name: "socle", version });
    this.#head = `{"resourceSpans":[{"resource":{"attributes":${JSON.stringify(resource)}},"scopeSpans":[{"scope":${scope},"spans":[`;
  }

  get totals(): SpanTotals {
    return { sent: this.#sent, dropped: this.#dropped };
  }

  /** Takes a span of a recorded trace. */
  add({ of, span }: TracedSpan): void {
    const { config } = this.#options;
    if (!isSampled(of, sampledPercentOf(config))) return;
    if (this.#isStopped || this.#waiting.length >= config["limits.spans"]) this.#dropped += 1;
    else if (this.#waiting.push(JSON.stringify(span)) === 1) this.#sendAfter(pauseMs);
    else if (this.#waiting.length === maxBatch && this.#failures === 0) this.#sendAfter(0);
  }

  /** Sends the spans that wait, within a time; spans that are left are dropped. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    const end = setTimeout(() => this.#stopping.abort(), graceMs);
    await this.#send();
    clearTimeout(end);
    this.#drop(this.#waiting.length);
  }

  #sendAfter(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#send(), ms * this.#timeFactor).unref();
  }

  /** Sends all batches until an outcome says to try later. Never rejects. */
  #send(): Promise<void> {
    clearTimeout(this.#timer);
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, this.#batch);
      const outcome = await this.#post(batch);
      if (outcome.kind === "taken") {
        this.#take(batch.length, outcome.rejected);
        continue;
      }
      if (outcome.kind === "smaller" && batch.length > 1) {
        this.#batch = Math.ceil(batch.length / 2);
        continue;
      }
      this.#failed(outcome.reason);
      if (outcome.kind === "later") {
        if (!this.#isStopped) this.#sendAfter(Math.min(pauseMs * 2 ** (this.#failures - 1), longestPauseMs));
        return;
      }
      this.#drop(batch.length);
    }
  }

  async #post(batch: readonly string[]): Promise<Outcome> {
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: this.#headers,
        body: `${this.#head}${batch.join()}]}]}]}`,
        // Another address must not get the headers.
        redirect: "manual",
        signal: AbortSignal.any([AbortSignal.timeout(answerMs * this.#timeFactor), this.#stopping.signal]),
      });
      const text = await response.text();
      const { status } = response;
      if (response.ok) return { kind: "taken", rejected: rejectedIn(text) };
      const kind = [429, 502, 503, 504].includes(status) ? "later" : status === 413 ? "smaller" : "final";
      return { kind, reason: `status ${status}` };
    } catch (thrown) {
      return { kind: "later", reason: messageOf(thrown) };
    }
  }

  #take(spans: number, rejected: number): void {
    this.#waiting.splice(0, spans);
    this.#sent += spans - rejected;
    this.#dropped += rejected;
    if (rejected > 0) this.#options.logger.often("The collector has refused spans", { spans: rejected });
    else if (this.#failures > 0)
      this.#options.logger.info("The collector takes spans again", { dropped: this.#dropped });
    this.#failures = 0;
  }

  /** A collector that is away is one line of the log. */
  #failed(reason: string): void {
    this.#failures += 1;
    if (this.#failures === 1)
      this.#options.logger.often("The collector takes no spans; spans beyond limits.spans are dropped", {
        url: this.#url,
        reason,
      });
  }

  #drop(spans: number): void {
    this.#waiting.splice(0, spans);
    this.#dropped += spans;
  }
}

/** The number of spans of a batch that the collector has refused (`ExportTracePartialSuccess`), from an answer as JSON. */
function rejectedIn(text: string): number {
  try {
    return Number(JSON.parse(text).partialSuccess?.rejectedSpans ?? 0) || 0;
  } catch {
    // An answer of another form refuses nothing.
    return 0;
  }
}
