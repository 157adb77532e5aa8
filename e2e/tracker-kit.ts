/** The example tracker for tests: started unchanged, with its API as a client without the page uses the API. */
import type { Event, RecordPage, ServerFrame, StoredRecord, TokenResponse } from "@socle/protocol";
import { copyExample, patience, post, type Running, serve, temporaryFolder, until } from "./kit.ts";

export const collections = [
  "workspaces",
  "members",
  "people",
  "projects",
  "issues",
  "comments",
  "invitations",
  "joins",
] as const;

const admin = { email: "admin@example.com", password: "a long password" };

export async function startTracker(): Promise<Running> {
  const cwd = temporaryFolder();
  copyExample("tracker", cwd);
  const env = { SERVICE_ADMIN_EMAIL: admin.email, SERVICE_ADMIN_PASSWORD: admin.password };
  return serve(cwd, { args: ["--port", "0"], env });
}

/** A user of the API; null is an anonymous caller. */
export type Caller = TokenResponse | null;

/** A workspace with a record of each collection. */
export interface Team {
  readonly owner: TokenResponse;
  readonly ids: { readonly [name in (typeof collections)[number]]: string };
  readonly invitation: StoredRecord;
}

/** A socket that hears every channel, and keeps all events. */
export interface Listening {
  readonly events: Event[];
  hears(condition: (event: Event) => boolean): Promise<Event>;
  /** Waits until all events that were sent before have arrived. */
  settle(): Promise<void>;
  close(): void;
}

export class TrackerApi {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async register(name: string): Promise<TokenResponse> {
    const credentials = { email: `${name}@example.com`, password: "a long password" };
    const answer = await post(`${this.#url}/api/auth/register`, credentials);
    const caller = (await answer.json()) as TokenResponse;
    await this.make(caller, "people", { name });
    return caller;
  }

  async admin(): Promise<TokenResponse> {
    return (await (await post(`${this.#url}/api/auth/login`, admin)).json()) as TokenResponse;
  }

  /** @param route method and path, for example `GET /api/issues` */
  call(caller: Caller, route: string, body?: object): Promise<Response> {
    const [method = "", path] = route.split(" ");
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    if (caller !== null) headers["Authorization"] = `Bearer ${caller.accessToken}`;
    return fetch(`${this.#url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  }

  async status(caller: Caller, route: string, body?: object): Promise<number> {
    return (await this.call(caller, route, body)).status;
  }

  async make(caller: Caller, name: string, body: object): Promise<string> {
    const answer = await this.call(caller, `POST /api/${name}`, body);
    if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
    return ((await answer.json()) as StoredRecord).id;
  }

  async list(caller: Caller, name: string, query: Record<string, string> = {}): Promise<RecordPage<StoredRecord>> {
    const answer = await this.call(caller, `GET /api/${name}?${new URLSearchParams({ limit: "1000", ...query })}`);
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
    return (await answer.json()) as RecordPage<StoredRecord>;
  }

  /** Waits for a record that functions make or change. */
  async waitFor(caller: Caller, name: string, filter: string): Promise<StoredRecord> {
    const end = performance.now() + patience;
    for (;;) {
      const [found] = (await this.list(caller, name, { filter })).items;
      if (found !== undefined) return found;
      if (performance.now() > end) throw new Error(`No ${name} with ${filter}`);
      await Bun.sleep(10);
    }
  }

  /** An invitation, and its token. */
  async invite(
    owner: TokenResponse,
    values: { workspace: string; role: string; email?: string },
  ): Promise<StoredRecord> {
    const id = await this.make(owner, "invitations", values);
    return this.waitFor(owner, "invitations", `id = "${id}" && token != null`);
  }

  /** Follows an invitation, and answers the outcome. */
  async follow(caller: Caller, token: unknown): Promise<unknown> {
    const id = await this.make(caller, "joins", { token });
    return (await this.waitFor(caller, "joins", `id = "${id}" && outcome != null`))["outcome"];
  }

  async team(name: string): Promise<Team> {
    const owner = await this.register(name);
    const people = (await this.waitFor(owner, "people", "user = @user.id")).id;
    const workspaces = await this.make(owner, "workspaces", { name });
    const members = (await this.waitFor(owner, "members", `workspace = "${workspaces}"`)).id;
    const projects = await this.make(owner, "projects", { name, workspace: workspaces });
    const issues = await this.make(owner, "issues", { title: `${name} secret`, project: projects });
    const comments = await this.make(owner, "comments", { text: `${name} secret`, issue: issues });
    const invitation = await this.invite(owner, { workspace: workspaces, role: "member" });
    const joins = await this.make(owner, "joins", { token: "none" });
    const ids = { workspaces, members, people, projects, issues, comments, invitations: invitation.id, joins };
    return { owner, ids, invitation };
  }

  async listen(caller: Caller, since?: string): Promise<Listening> {
    const events: Event[] = [];
    const token = caller === null ? "" : `?token=${caller.accessToken}`;
    const socket = new WebSocket(`${this.#url.replace("http", "ws")}/api/realtime${token}`);
    const channels = [...collections.map((name) => `${name}.*`), "storage.uploaded", "storage.deleted"];
    const send = (frame: object): void => socket.send(JSON.stringify(frame));
    let [subscribed, pongs, pings] = [0, 0, 0];
    socket.onopen = () => {
      for (const channel of channels) send({ action: "subscribe", channel, since });
    };
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(String(data)) as ServerFrame;
      if (frame.type === "event") events.push(frame.event);
      else if (frame.type === "subscribed") subscribed += 1;
      else if (frame.type === "pong") pongs += 1;
      else if (frame.type !== "connected") throw new Error(String(data));
    };
    await until(() => subscribed === channels.length);
    return {
      events,
      async hears(condition) {
        await until(() => events.some(condition));
        const heard = events.find(condition);
        if (heard === undefined) throw new Error("It was heard a moment ago");
        return heard;
      },
      async settle() {
        pings += 1;
        send({ action: "ping" });
        await until(() => pongs === pings);
      },
      close: () => socket.close(),
    };
  }
}
