/** The providers in the admin API: callback addresses and missing keys, without secrets. */
import { expect, test } from "bun:test";
import type { Page, ProviderSetup } from "@socle/protocol";
import { openApi } from "../../../../../test/kit.ts";

const providers = {
  google: { clientId: "google-id", clientSecret: "hush-google" },
  "my-oidc": {
    issuer: "https://id.example.com",
    title: "Staff",
    clientId: "oidc-id",
    clientSecret: "hush-oidc",
    ownCallback: true,
  },
};

async function setups(settings: Record<string, string>): Promise<{ items: ProviderSetup[]; text: string }> {
  const api = await openApi({ settings });
  const token = await api.admin();
  const { body, bytes } = await api.request<Page<ProviderSetup>>("GET", "/api/admin/providers", { token });
  const { accessToken } = await api.register("ann@example.com");
  expect((await api.request("GET", "/api/admin/providers", { token: accessToken })).status).toBe(403);
  expect((await api.request("GET", "/api/admin/providers")).status).toBe(401);
  return { items: body.items, text: new TextDecoder().decode(bytes) };
}

test("configured providers come first, with their callback; presets name the missing keys; no secret", async () => {
  const { items, text } = await setups({
    SERVICE_AUTH_PROVIDERS: JSON.stringify(providers),
    SERVICE_PUBLIC_URL: "https://shop.example.com",
  });
  const callback = "https://shop.example.com/api/auth/oauth/callback";
  expect(items.slice(0, 2)).toEqual([
    {
      name: "google",
      title: "Google",
      isConfigured: true,
      clientId: "google-id",
      issuer: "https://accounts.google.com",
      callback,
      missing: [],
    },
    {
      name: "my-oidc",
      title: "Staff",
      isConfigured: true,
      clientId: "oidc-id",
      issuer: "https://id.example.com",
      callback: `${callback}/my-oidc`,
      missing: [],
    },
  ]);
  expect(items.filter(({ name }) => name === "google")).toHaveLength(1);
  const apple = items.find(({ name }) => name === "apple");
  expect(apple).toEqual({
    name: "apple",
    title: "Apple",
    isConfigured: false,
    clientId: null,
    issuer: null,
    callback,
    missing: ["clientId", "teamId", "keyId", "privateKey"].map((setting) => `auth.providers.apple.${setting}`),
  });
  expect(text).not.toContain("hush");
});

test("without publicUrl, no provider has a callback, and each misses publicUrl", async () => {
  const { items } = await setups({ SERVICE_AUTH_PROVIDERS: JSON.stringify(providers) });
  expect(items.every(({ callback, missing }) => callback === null && missing.includes("publicUrl"))).toBe(true);
  expect(items[0]?.missing).toEqual(["publicUrl"]);
});
