/** The service of the property test of rules, and the callers who send questions. */

import { fileForm, formType } from "../forms.ts";
import { png } from "../images.ts";
import type { Answer } from "../kit.ts";
import type { TestServer } from "../sockets.ts";
import type { ModelCaller, ModelFile } from "./model.ts";

export interface Actor extends ModelCaller {
  /** The value changes with the role. */
  isAdmin: boolean;
  readonly token: string | undefined;
}

type Role = "admin" | "authenticated" | "public";

/** A request of a caller. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export class Cast {
  readonly server: TestServer;
  /** An anonymous caller, users and an admin, in this order. */
  readonly callers: readonly Actor[];
  /** Files of all visibilities and of several owners. */
  readonly files: readonly ModelFile[];

  constructor(server: TestServer, callers: readonly Actor[], files: readonly ModelFile[]) {
    this.server = server;
    this.callers = callers;
    this.files = files;
  }

  get nobody(): Actor {
    return this.callers[0] as Actor;
  }

  get admin(): Actor {
    return this.callers.at(-1) as Actor;
  }

  /** All callers except the anonymous caller and the admin. */
  get users(): readonly Actor[] {
    return this.callers.slice(1, -1);
  }

  get userIds(): string[] {
    return this.users.flatMap(({ id }) => id ?? []);
  }

  get fileIds(): string[] {
    return this.files.map(({ id }) => id);
  }

  async setRole(user: Actor, role: Role): Promise<void> {
    await this.must("PATCH", `/api/admin/users/${user.id}`, { role });
    user.isAdmin = role === "admin";
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
  const users: (Actor & { id: string; token: string })[] = [];
  for (const name of ["ann", "bob", "eve"]) {
    const { user, accessToken } = await server.register(`${name}@example.com`);
    users.push({ name, id: user.id, isAdmin: false, token: accessToken });
  }
  const files: ModelFile[] = [];
  for (const [i, visibility] of (["record", "record", "record", "protected", "public"] as const).entries()) {
    const { id, token } = users[i % users.length] as (typeof users)[number];
    const body = fileForm(png(20, 20), { filename: "a.png", visibility });
    const headers = { "Content-Type": formType };
    const answer = await server.request<{ id: string }>("POST", "/api/storage/upload", { body, headers, token });
    files.push({ id: answer.body.id, owner: id, visibility });
  }
  const nobody = { name: "nobody", id: null, isAdmin: false, token: undefined };
  const token = await server.admin();
  const { id } = (await server.request<{ user: { id: string } }>("GET", "/api/auth/me", { token })).body.user;
  return new Cast(server, [nobody, ...users, { name: "admin", id, isAdmin: true, token }], files);
}
