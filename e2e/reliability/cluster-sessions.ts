/** Sessions of the cluster suite: a user signs in and out again and again; after the answer to a logout, no instance accepts the token any more. */
import { send } from "../cluster-load.ts";
import { type Gate, pick } from "./cluster-clients.ts";
import { password, type World } from "./cluster-world.ts";

/** The longest wait for an answer: longer than the longest pause of an instance. */
const answerMs = 12_000;
const pauseMs = 1_000;

export class Sessions {
  /** Logouts that were acknowledged; answers to the ended token that refuse the token, and requests that no instance has answered. */
  readonly counts = { ended: 0, refused: 0, unanswered: 0 };
  readonly problems: string[] = [];
  readonly #world: World;
  readonly #random: () => number;
  #isOn = true;
  readonly #running: Promise<unknown>;

  constructor(world: World, random: () => number, gate: Gate) {
    this.#world = world;
    this.#random = random;
    this.#running = Promise.all(world.users.slice(0, 3).map(({ email }) => this.#signInAndOut(email, gate)));
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#running;
  }

  async #signInAndOut(email: string, gate: Gate): Promise<void> {
    while (this.#isOn) {
      await Bun.sleep(this.#random() * pauseMs);
      await gate.run(() => this.#session(email));
    }
  }

  async #session(email: string): Promise<void> {
    const login = await this.#post("/api/auth/login", { email, password });
    if (login.outcome !== "acknowledged") return;
    const { accessToken: token } = login.body as { accessToken: string };
    const logout = await this.#post("/api/auth/logout", {}, token);
    if (logout.outcome !== "acknowledged") return;
    this.counts.ended += 1;
    await Promise.all(this.#world.instances.map(({ url }) => this.#look(url, token)));
  }

  #post(path: string, body: object, token?: string): ReturnType<typeof send> {
    const sent = { method: "POST", path, body, ms: answerMs, ...(token !== undefined && { token }) } as const;
    return send(pick(this.#world.instances, this.#random), sent);
  }

  async #look(url: string, token: string): Promise<void> {
    const headers = { Authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(answerMs);
    const status = await fetch(`${url}/api/auth/me`, { headers, signal }).then(
      (answer) => answer.status,
      () => 503,
    );
    if (status === 401) this.counts.refused += 1;
    else if (status === 503) this.counts.unanswered += 1;
    else this.problems.push(`${url} answers ${status} to a token whose session has ended`);
  }
}
