/** Addresses of apps: each trick by which an address seems to lead to the app, and leads elsewhere. */
import { expect, test } from "bun:test";
import { AppError } from "../../../base/kernel/index.ts";
import { Redirects } from "./redirects.ts";

const redirects = new Redirects([
  "https://shop.example.com/base",
  "https://app.example.com:8443/",
  "https://root.example.com",
  "my-app://signed-in",
  "com.example.app:/oauth",
  "whole-app:",
  "http://127.0.0.1/cli",
  "http://localhost:5173",
]);

test.each<[address: string, shown: string]>([
  ["https://shop.example.com/base", "https://shop.example.com/base"],
  ["https://shop.example.com/base/", "https://shop.example.com/base/"],
  [
    "https://shop.example.com/base/signed-in?next=%2Fcart&x=../y",
    "https://shop.example.com/base/signed-in?next=%2Fcart&x=../y",
  ],
  ["HTTPS://SHOP.EXAMPLE.COM/base/a", "https://shop.example.com/base/a"],
  ["https://shop.example.com:443/base", "https://shop.example.com/base"],
  ["https://app.example.com:8443/a/b", "https://app.example.com:8443/a/b"],
  ["https://root.example.com", "https://root.example.com/"],
  ["https://root.example.com/.well-known/x", "https://root.example.com/.well-known/x"],
  ["my-app://signed-in", "my-app://signed-in"],
  ["my-app://signed-in/a?b=c", "my-app://signed-in/a?b=c"],
  ["com.example.app:/oauth/done", "com.example.app:/oauth/done"],
  ["whole-app://anything/a", "whole-app://anything/a"],
  ["http://127.0.0.1:53217/cli", "http://127.0.0.1:53217/cli"],
  ["http://localhost:5173/a", "http://localhost:5173/a"],
  // Browsers read these addresses in the same way.
  ["https:shop.example.com/base", "https://shop.example.com/base"],
  ["https:///shop.example.com/base", "https://shop.example.com/base"],
])("%s is allowed", (address, shown) => {
  expect(redirects.check(address)).toBe(shown);
});

test.each([
  // Another host.
  "https://shop.example.com.evil.com/base",
  "https://evil.com/https://shop.example.com/base",
  "https://evil.com?https://shop.example.com/base",
  "https://shop.example.com@evil.com/base",
  "https://shop.example.com:x@evil.com/base",
  "https://evil@shop.example.com/base",
  "https://a:b@shop.example.com/base",
  "https://evil.com\\@shop.example.com/base",
  "https://evil.com\\.shop.example.com/base",
  "https:\\\\shop.example.com\\base",
  "https://shop.example.com\\evil/base",
  "//shop.example.com/base",
  "/base",
  "https://xshop.example.com/base",
  "https://shop.example.co/base",
  "https://shop.example.com./base",
  "https://ｓhop.example.com.evil.com/base",
  // Another port or scheme.
  "http://shop.example.com/base",
  "https://shop.example.com:8443/base",
  "https://app.example.com/",
  "http://127.0.0.2:1/cli",
  "http://127.0.0.1.evil.com/cli",
  "http://localhost:5174/",
  "ftp://shop.example.com/base",
  "javascript:alert(1)//https://shop.example.com/base",
  "data:text/html,<script>",
  "my-app-evil://signed-in",
  "my-app:signed-in",
  "my-app://evil",
  "my-app://signed-in.evil",
  "com.example.app:/oauth2",
  "com.example.app://host/oauth",
  // Another path.
  "https://shop.example.com/",
  "https://shop.example.com/based",
  "https://shop.example.com/Base",
  "https://shop.example.com/base/../admin",
  "https://shop.example.com/base/..",
  "https://shop.example.com/base/./a",
  "https://shop.example.com/base/%2e%2e/admin",
  "https://shop.example.com/base/%2E%2E%2fadmin",
  "https://shop.example.com/base/..%2fadmin",
  "https://shop.example.com/base/..%5cadmin",
  "https://shop.example.com/base/a%2fb",
  // Characters that browsers drop or change.
  " https://shop.example.com/base",
  "https://shop.example.com/base ",
  "https://shop.example.com/ba\tse",
  "https://shop.example.com/base\n",
  "https://shop.example.com/base\r\nSet-Cookie: a=b",
  "https://shop.example.com/base/\u0000",
  "https://shop.example.com/base/\u202e",
  "ht\ntps://shop.example.com/base",
  // The outcome comes after `#`.
  "https://shop.example.com/base#",
  "https://shop.example.com/base#/route",
  "",
  "x",
  `https://shop.example.com/base/${"x".repeat(2_000)}`,
  null,
])("%j is refused", (address) => {
  expect(() => redirects.check(address)).toThrow(AppError);
});

test("without an allowed address nothing is allowed", () => {
  expect(() => new Redirects([]).check("https://shop.example.com/base")).toThrow("redirect");
});
