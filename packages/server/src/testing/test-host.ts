/**
 * The host of the services under test, in the process of `socle test`: starts and stops services for the test files, and
 * passes on requests of the files. Test files reach the host over HTTP on the loopback address, with a token.
 */
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type TestRequest, type TestServiceAddress, testHostVariable, testTokenVariable } from "@socle/protocol";
import { isObject, isSameSecret, messageOf, randomToken, Secret } from "../base/kernel/index.ts";
import { RunningService, type TestServiceOptions } from "./running-service.ts";

export interface TestHostOptions {
  /** The temporary folder of the run, which exists. */
  readonly folder: string;
  /** The number of test files. */
  readonly files: number;
  readonly service: Omit<TestServiceOptions, "data">;
  readonly cwd: string;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly onLog: (line: string) => void;
}

export class TestHost {
  readonly #options: TestHostOptions;
  readonly #token = new Secret(randomToken(32));
  readonly #server: Bun.Server<undefined>;
  readonly #services = new Map<number, RunningService>();
  /** The service that the next test file gets; the service starts while the tests of another file run. */
  #next: Promise<TestServiceAddress> | null = null;
  #lastId = 0;

  constructor(options: TestHostOptions) {
    this.#options = options;
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request, server) => {
        // The test decides how long to wait.
        server.timeout(request, 0);
        if (!isSameSecret(request.headers.get("Authorization") ?? "", this.#token.reveal()))
          return new Response(null, { status: 401 });
        const answering = request.json().then((asked) => this.#answer(requestOf(asked)));
        return Response.json(
          await answering.then(
            (value) => ({ value }),
            (thrown) => ({ error: messageOf(thrown) }),
          ),
        );
      },
    });
  }

  /** The variables by which test files find this host. */
  get variables(): Record<string, string> {
    return { [testHostVariable]: this.#server.url.href, [testTokenVariable]: this.#token.reveal() };
  }

  /** Starts the service of the first test file. @throws SetupError with a line for each reason of the failure. */
  async prepare(): Promise<void> {
    this.#next = this.#start();
    await this.#next;
  }

  /** Ends all services at once. */
  async stop(): Promise<void> {
    const services = [...this.#services.values()];
    for (const service of services) service.kill();
    await Promise.all(services.map(({ exited }) => exited));
    await this.#server.stop(true);
  }

  async #answer(request: TestRequest): Promise<unknown> {
    if (request.kind === "open") return this.#open();
    const service = this.#services.get(request.service);
    if (service === undefined) throw new Error("This service under test has ended");
    if (request.kind === "call") return service.call(request.call);
    this.#services.delete(request.service);
    service.kill();
    await service.exited;
    await rm(this.#folderOf(request.service), { recursive: true, force: true });
    return null;
  }

  async #open(): Promise<TestServiceAddress> {
    const opening = this.#next ?? this.#start();
    this.#next = null;
    const address = await opening;
    if (this.#lastId < this.#options.files) {
      this.#next = this.#start();
      // The next file is told.
      this.#next.catch(() => undefined);
    }
    return address;
  }

  async #start(): Promise<TestServiceAddress> {
    const { service: options, cwd, environment, onLog } = this.#options;
    this.#lastId += 1;
    const id = this.#lastId;
    const data = this.#folderOf(id);
    mkdirSync(data);
    const service = new RunningService({ options: { ...options, data }, cwd, environment }, onLog);
    this.#services.set(id, service);
    return { service: id, ...(await service.address) };
  }

  #folderOf(id: number): string {
    return join(this.#options.folder, String(id));
  }
}

/** The test files of a run are of the same executable. @throws Error for any other value. */
function requestOf(value: unknown): TestRequest {
  if (isObject(value) && ["open", "call", "close"].includes(String(value["kind"]))) return value as TestRequest;
  throw new Error("There is no such request");
}
