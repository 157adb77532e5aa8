/** Tests of `admin.email`: the setting makes an admin once, and not again after that admin was deleted or demoted. */
import { describe, expect, test } from "bun:test";
import { openApi, setRole, type TestApi } from "../../../test/kit.ts";

const boss = { email: "boss@example.com", password: "correct horse" };
const settings = { SERVICE_ADMIN_EMAIL: "Boss@Example.com" };

async function deleteUser({ service: { auth, database } }: TestApi, email: string): Promise<void> {
  const user = await auth.users.findByEmail(email);
  await database.transact((tx) => auth.users.delete(tx, user?.id ?? "", null));
}

async function roleAfterRegistration(api: TestApi): Promise<string> {
  return (await api.register(boss.email)).user.role;
}

describe("an admin that the configuration has made", () => {
  test("at a start is not made again after a deletion", async () => {
    const api = await openApi({ settings });
    await api.admin();
    expect(await api.service.auth.seedAdmin(boss)).toBe("made");
    expect(await api.service.auth.seedAdmin(boss)).toBe("exists");
    await deleteUser(api, boss.email);
    expect(await api.service.auth.seedAdmin(boss)).toBe("spent");
    expect(await api.service.auth.users.findByEmail(boss.email)).toBeNull();
    expect(await roleAfterRegistration(api)).toBe("authenticated");
  });

  test("by a registration is not made again after a deletion, also in another run without the key between", async () => {
    const first = await openApi({ settings });
    await first.admin();
    expect(await roleAfterRegistration(first)).toBe("admin");
    await first.close();
    const second = await openApi({ folder: first.config.folder });
    await deleteUser(second, boss.email);
    await second.close();
    const third = await openApi({ folder: first.config.folder, settings });
    expect(await third.service.auth.seedAdmin(boss)).toBe("spent");
    expect(await roleAfterRegistration(third)).toBe("authenticated");
  });

  test("and whose role was taken away is not made again", async () => {
    const api = await openApi({ settings });
    await api.admin();
    const { user } = await api.register(boss.email);
    await setRole(api.service, user.id, "authenticated");
    expect(await api.service.auth.seedAdmin(boss)).toBe("exists");
    await deleteUser(api, boss.email);
    expect(await roleAfterRegistration(api)).toBe("authenticated");
  });
});

test("an admin of this email who was made in another way, and deleted, is not made again", async () => {
  const api = await openApi({ settings });
  await api.admin();
  const { auth, database } = api.service;
  const values = await auth.users.prepare(boss);
  await database.transact((tx) => auth.users.makeAdmin(tx, values));
  await deleteUser(api, boss.email);
  expect(await auth.seedAdmin(boss)).toBe("spent");
});

test("a refused deletion changes nothing, and a user without the role does not count", async () => {
  const api = await openApi({ settings });
  const { user } = await api.register("other@example.com");
  await deleteUser(api, String(user.email));
  expect(await roleAfterRegistration(api)).toBe("admin");
  await expect(deleteUser(api, boss.email)).rejects.toMatchObject({ code: "bad_request" });
  expect(await api.service.auth.seedAdmin(boss)).toBe("exists");
});
