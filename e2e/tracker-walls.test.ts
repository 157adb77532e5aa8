/** The example tracker: two workspaces must not see each other, by any route and on any socket. */
import { describe, expect, test } from "bun:test";
import type { TokenResponse } from "@socle/protocol";
import { type Caller, collections, startTracker, TrackerApi } from "./tracker-kit.ts";

const server = await startTracker();
const api = new TrackerApi(server.url);
const [ours, theirs] = [await api.team("ann"), await api.team("eve")];
const stranger: TokenResponse = await api.register("stranger");

describe("two workspaces", () => {
  /** Everybody to whom our workspace is closed. */
  const outsiders = (): Caller[] => [theirs.owner, stranger, null];
  const ourIds = (): string[] => [...Object.values(ours.ids), ours.owner.user.id];
  const expectNothingOfOurs = (answered: unknown): void => {
    const text = JSON.stringify(answered);
    for (const id of ourIds()) expect(text).not.toContain(id);
    expect(text).not.toContain("ann");
  };

  test("lists, counts, filters and expansions have nothing of the other", async () => {
    for (const outsider of outsiders())
      for (const name of collections) {
        expectNothingOfOurs(await (await api.call(outsider, `GET /api/${name}`)).text());
        const { items, total } = await api.list(outsider, name, { count: "exact" });
        expect(total ?? -1).toBe(items.length);
        expectNothingOfOurs(items);
        expect((await api.list(outsider, name, { filter: `id = "${ours.ids[name]}"`, count: "exact" })).total).toBe(0);
      }
    const probes: readonly (readonly [string, Record<string, string>])[] = [
      ["issues", { filter: 'title ~ "ann"' }],
      ["issues", { filter: `project = "${ours.ids.projects}"` }],
      ["issues", { filter: `project.workspace.members(workspace).user = "${ours.owner.user.id}"` }],
      ["issues", { expand: "project.workspace.members(workspace),comments(issue),author" }],
      ["workspaces", { filter: 'projects(workspace).issues(project).title ~ "ann"' }],
      ["workspaces", { expand: "members(workspace).user,projects(workspace).issues(project),invitations(workspace)" }],
      ["members", { filter: `workspace = "${ours.ids.workspaces}"`, expand: "workspace,user" }],
      ["people", { filter: 'user.email ~ "ann"' }],
      ["people", { sort: "name", fields: "name,user.email" }],
    ];
    for (const [name, query] of probes) expectNothingOfOurs(await api.list(theirs.owner, name, query));
  });

  test("single records are 404 to reads, changes and deletions", async () => {
    for (const name of collections.filter((each) => each !== "joins")) {
      const path = `/api/${name}/${ours.ids[name]}`;
      for (const outsider of outsiders()) {
        expect(await api.status(outsider, `GET ${path}`)).toBe(404);
        expect(await api.status(outsider, `GET ${path}?fields=id`)).toBe(404);
        expect([401, 403, 404]).toContain(await api.status(outsider, `PUT ${path}`, {}));
        expect([401, 403, 404]).toContain(await api.status(outsider, `DELETE ${path}`));
      }
      expect(await api.status(ours.owner, `GET ${path}`)).toBe(200);
    }
  });

  test("nothing is moved or made across, whoever is the owner", async () => {
    const { ids, owner } = theirs;
    const moves: readonly (readonly [keyof typeof ids, object])[] = [
      ["issues", { project: ours.ids.projects }],
      ["issues", { assignee: ours.owner.user.id }],
      ["projects", { workspace: ours.ids.workspaces }],
      ["comments", { issue: ours.ids.issues }],
      ["members", { workspace: ours.ids.workspaces }],
      ["invitations", { workspace: ours.ids.workspaces }],
    ];
    for (const [name, change] of moves)
      expect(await api.status(owner, `PUT /api/${name}/${ids[name]}`, change)).toBe(403);
    const creations: readonly (readonly [string, object])[] = [
      ["issues", { title: "x", project: ours.ids.projects }],
      ["projects", { name: "x", workspace: ours.ids.workspaces }],
      ["comments", { text: "x", issue: ours.ids.issues }],
      ["invitations", { role: "member", workspace: ours.ids.workspaces }],
      ["members", { role: "owner", user: owner.user.id, workspace: ours.ids.workspaces }],
      ["members", { role: "owner", user: owner.user.id, workspace: ids.workspaces }],
    ];
    for (const [name, body] of creations)
      for (const outsider of [owner, stranger]) expect(await api.status(outsider, `POST /api/${name}`, body)).toBe(403);
    for (const [name, body] of creations) expect(await api.status(null, `POST /api/${name}`, body)).toBe(401);
  });

  test("an invitation admits its addressee, once", async () => {
    expect(await api.follow(stranger, "guessed")).toBe("refused");
    const workspace = ours.ids.workspaces;
    for (const own of [{ token: "short" }, { expiresAt: "2999-01-01" }])
      expect(await api.status(ours.owner, "POST /api/invitations", { workspace, role: "member", ...own })).toBe(403);
    expect(await api.status(stranger, "POST /api/joins", { token: "x", outcome: "accepted" })).toBe(403);
    const personal = await api.invite(ours.owner, { workspace, role: "guest", email: " Guest@example.com" });
    expect(await api.follow(stranger, personal["token"])).toBe("refused");
    const guest = await api.register("guest");
    expect(await api.follow(guest, personal["token"])).toBe("accepted");
    expect(await api.follow(stranger, personal["token"])).toBe("refused");
    const issue = `/api/issues/${ours.ids.issues}`;
    expect(await api.status(guest, `GET ${issue}`)).toBe(200);
    expect(await api.status(guest, `PUT ${issue}`, { title: "by a guest" })).toBe(403);
    const own = await api.waitFor(guest, "members", "user = @user.id");
    for (const change of [{ user: stranger.user.id }, { workspace: theirs.ids.workspaces }, { invitation: "other" }])
      expect(await api.status(ours.owner, `PUT /api/members/${own.id}`, change)).toBe(403);
    expect(await api.status(guest, `PUT /api/members/${own.id}`, { role: "owner" })).toBe(403);
    expect((await api.list(guest, "invitations")).items).toEqual([]);

    // Several users follow one link at the same moment: only the first is accepted.
    const crowd = await Promise.all(["c1", "c2", "c3", "c4", "c5", "c6"].map((name) => api.register(name)));
    const outcomes = await Promise.all(crowd.map((each) => api.follow(each, ours.invitation["token"])));
    expect(outcomes.sort()).toEqual(["accepted", ...crowd.slice(1).map(() => "refused")]);
  });

  test("an invitation that was revoked, or whose inviter is no owner any more, is over", async () => {
    const workspace = ours.ids.workspaces;
    const revoked = await api.invite(ours.owner, { workspace, role: "member" });
    expect(await api.status(ours.owner, `DELETE /api/invitations/${revoked.id}`)).toBe(204);
    expect(await api.follow(stranger, revoked["token"])).toBe("refused");
    const other = await api.register("other");
    expect(await api.follow(other, (await api.invite(ours.owner, { workspace, role: "member" }))["token"])).toBe(
      "accepted",
    );
    const membership = await api.waitFor(ours.owner, "members", `user = "${other.user.id}"`);
    expect(await api.status(ours.owner, `PUT /api/members/${membership.id}`, { role: "owner" })).toBe(200);
    const theirInvitation = await api.invite(other, { workspace, role: "member" });
    expect(await api.status(ours.owner, `PUT /api/members/${membership.id}`, { role: "member" })).toBe(200);
    expect(await api.follow(stranger, theirInvitation["token"])).toBe("refused");
    for (const role of ["owner", "member", "guest"])
      expect(await api.status(ours.owner, `PUT /api/members/${ours.ids.members}`, { role })).toBe(403);
    expect(await api.status(ours.owner, `DELETE /api/members/${ours.ids.members}`)).toBe(403);
  });

  test("sockets and replays send nothing of the other", async () => {
    const listeners = await Promise.all(outsiders().map((outsider) => api.listen(outsider)));
    const [outside] = listeners;
    if (outside === undefined) throw new Error("There are outsiders");
    const member = await api.listen(ours.owner);
    const marker = { text: "marker", issue: theirs.ids.issues };
    const before = await api.make(theirs.owner, "comments", marker);
    const { id: since } = await outside.hears(({ payload }) => payload["id"] === before);
    const issue = await api.make(ours.owner, "issues", { title: "ann 2", project: ours.ids.projects });
    await api.call(ours.owner, `PUT /api/issues/${issue}`, { status: "doing", assignee: ours.owner.user.id });
    await api.make(ours.owner, "comments", { text: "ann 3", issue });
    await api.call(ours.owner, `PUT /api/workspaces/${ours.ids.workspaces}`, { name: "ann 4" });
    await api.call(ours.owner, `DELETE /api/issues/${issue}`);
    await member.hears(({ type }) => type === "issues.deleted");
    const after = await api.make(theirs.owner, "comments", marker);
    await outside.hears(({ payload }) => payload["id"] === after);
    const replay = await api.listen(theirs.owner, since);
    await replay.hears(({ payload }) => payload["id"] === after);
    for (const listener of [...listeners, replay]) {
      await listener.settle();
      expectNothingOfOurs(listener.events);
      expect(JSON.stringify(listener.events)).not.toContain(issue);
      listener.close();
    }
    member.close();
  });

  test("files belong to their owner", async () => {
    const [hearing, own] = [await api.listen(stranger), await api.listen(ours.owner)];
    const form = new FormData();
    form.set("file", new File(["ann's plan"], "ann.txt"));
    const headers = { Authorization: `Bearer ${ours.owner.accessToken}` };
    const upload = await fetch(`${server.url}/api/storage/upload`, { method: "POST", headers, body: form });
    const { url } = (await upload.json()) as { url: string };
    expect(await api.status(null, `GET ${url}`)).toBe(401);
    for (const path of [url, `${url}?thumb=64x64`]) expect(await api.status(theirs.owner, `GET ${path}`)).toBe(403);
    expect(await api.status(theirs.owner, `DELETE ${url}`)).toBe(403);
    await own.hears(({ type }) => type === "storage.uploaded");
    await hearing.settle();
    // The configuration of the tracker: events of the service are for their own user.
    expect(hearing.events.filter(({ type }) => type.startsWith("storage."))).toEqual([]);
    expect(JSON.stringify(hearing.events)).not.toContain("ann.txt");
    hearing.close();
    own.close();
  });

  test("a removed member is notified of the removal, and of nothing more", async () => {
    const bob = await api.register("bob");
    const { token } = await api.invite(ours.owner, { workspace: ours.ids.workspaces, role: "member" });
    expect(await api.follow(bob, token)).toBe("accepted");
    const body = { title: "for bob", project: ours.ids.projects, assignee: bob.user.id };
    const issue = await api.make(bob, "issues", body);
    const hearing = await api.listen(bob);
    const membership = await api.waitFor(ours.owner, "members", `user = "${bob.user.id}"`);
    expect(await api.status(ours.owner, `DELETE /api/members/${membership.id}`)).toBe(204);
    await hearing.hears(({ type, payload }) => type === "members.deleted" && payload["id"] === membership.id);
    await api.waitFor(ours.owner, "issues", `id = "${issue}" && assignee = null`);
    expect(await api.status(bob, `GET /api/issues/${issue}`)).toBe(404);
    expect(await api.status(bob, `PUT /api/issues/${issue}`, { title: "still" })).toBe(404);
    expect((await api.list(bob, "issues")).items).toEqual([]);
    await hearing.settle();
    expect(hearing.events.map(({ type }) => type)).toEqual(["members.deleted"]);
    hearing.close();
  });

  test("a workspace is deleted with all its records, and no other workspace", async () => {
    const { owner, ids } = await api.team("short");
    const admin = await api.admin();
    expect(await api.status(owner, `DELETE /api/workspaces/${ids.workspaces}`)).toBe(204);
    const parts = ["members", "projects", "issues", "comments", "invitations"] as const;
    const left = async (id: string): Promise<number> => {
      const found = await Promise.all(parts.map((name) => api.list(admin, name, { filter: `id = "${id}"` })));
      return found.flatMap(({ items }) => items).length;
    };
    expect(await Promise.all(parts.map((name) => left(ids[name])))).toEqual([0, 0, 0, 0, 0]);
    expect(await api.status(theirs.owner, `GET /api/comments/${theirs.ids.comments}`)).toBe(200);
  });
});
