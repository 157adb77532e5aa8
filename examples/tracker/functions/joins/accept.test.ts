/** Invitations: the token of an invitation makes its bearer a member, once and within a week. */
import { beforeEach, expect, service, type TestClient, test } from "socle/test";

let n = 0;
let owner: TestClient;
let workspace: string;

beforeEach(async () => {
  n += 1;
  owner = await service.client(`owner${n}@example.com`);
  workspace = (await owner.collection("workspaces").create({ name: `Workspace ${n}` })).id;
  await service.idle();
});

/** The token of a new invitation. */
async function invite(values: { email?: string } = {}): Promise<string> {
  const { id } = await owner.collection("invitations").create({ workspace, role: "member", ...values });
  await service.idle();
  return (await owner.collection("invitations").get(id)).token ?? "";
}

async function join(user: TestClient, token: string): Promise<"accepted" | "refused" | null> {
  const { id } = await user.collection("joins").create({ token });
  await service.idle();
  return (await user.collection("joins").get(id)).outcome;
}

test("the creator of a workspace is its owner", async () => {
  expect(await owner.collection("members").list()).toMatchObject([{ workspace, role: "owner" }]);
});

test("an invitation works once", async () => {
  const token = await invite();
  const [eva, bob] = [await service.client(`eva${n}@example.com`), await service.client(`bob${n}@example.com`)];
  expect(await join(eva, token)).toBe("accepted");
  expect(await join(bob, token)).toBe("refused");
  expect(await bob.collection("projects").list()).toEqual([]);
});

test("an invitation lasts a week", async () => {
  const [early, late] = [await invite(), await invite()];
  const [eva, bob] = [await service.client(`eva${n}@example.com`), await service.client(`bob${n}@example.com`)];
  await service.clock.advance("6d");
  expect(await join(eva, early)).toBe("accepted");
  await service.clock.advance("1d");
  expect(await join(bob, late)).toBe("refused");
});

test("30 users who join at once: 24 become members beside the owner", async () => {
  const tokens = await Promise.all(Array.from({ length: 30 }, () => invite()));
  const users = await Promise.all(tokens.map((_, user) => service.client(`many${n}-${user}@example.com`)));
  const outcomes = await Promise.all(users.map((user, i) => join(user, tokens[i] ?? "")));
  expect(outcomes.filter((outcome) => outcome === "accepted")).toHaveLength(24);
  expect(outcomes.filter((outcome) => outcome === "refused")).toHaveLength(6);
});

test("an invitation ends when its maker is no owner any more", async () => {
  const bob = await service.client(`bob${n}@example.com`);
  expect(await join(bob, await invite())).toBe("accepted");
  const token = await invite();
  const members = await owner.collection("members").list();
  const [first, second] = ["owner", "member"].map((role) => members.find((member) => member.role === role)?.id ?? "");
  await owner.collection("members").update(second ?? "", { role: "owner" });
  await bob.collection("members").update(first ?? "", { role: "member" });
  expect(await join(await service.client(`eva${n}@example.com`), token)).toBe("refused");
});

test("an invitation by email is for its address only", async () => {
  const token = await invite({ email: `eva${n}@example.com` });
  expect(await join(await service.client(`bob${n}@example.com`), token)).toBe("refused");
  expect(await join(await service.client(`eva${n}@example.com`), token)).toBe("accepted");
});
