/** The service of the property test of rules, and the callers who ask it. */
import type { Answer } from "../kit.ts";
import type { TestServer } from "../sockets.ts";
import type { ModelCaller } from "./model.ts";

export type Actor = ModelCaller & { readonly token: string | undefined };

/** A request of a caller. */
interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export class Cast {
  readonly server: TestServer;
  /** Nobody, users and an admin, in this order. */
  readonly callers: readonly Actor[];

  constructor(server: TestServer, callers: readonly Actor[]) {
    this.server = server;
    this.callers = callers;
  }

  get admin(): Actor {
    return this.callers.at(-1) as Actor;
  }

  get userIds(): string[] {
    return this.callers.flatMap(({ id, isAdmin }) => (id === null || isAdmin ? [] : [id]));
  }

  request({ token }: Actor, { method, path, ...options }: Asked): Promise<Answer<unknown>> {
    return this.server.request<unknown>(method, path, { ...options, ...(token !== undefined && { token }) });
  }

  get(caller: Actor, path: string, headers: Record<string, string> = {}): Promise<Answer<unknown>> {
    return this.request(caller, { method: "GET", path, headers });
  }

  /** A request of the admin that must succeed. */
  async must(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await this.request(this.admin, { method, path, ...(body !== undefined && { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}

/** @param open opens the service, without collections. */
export async function openCast(
  open: (options: { collections: readonly object[] }) => Promise<TestServer>,
): Promise<Cast> {
  const server = await open({ collections: [] });
  const users: Actor[] = [];
  for (const name of ["ann", "bob", "eve"]) {
    const { user, accessToken } = await server.register(`${name}@example.com`);
    users.push({ name, id: user.id, isAdmin: false, token: accessToken });
  }
  const nobody = { name: "nobody", id: null, isAdmin: false, token: undefined };
  const token = await server.admin();
  const { id } = (await server.request<{ user: { id: string } }>("GET", "/api/auth/me", { token })).body.user;
  return new Cast(server, [nobody, ...users, { name: "admin", id, isAdmin: true, token }]);
}
