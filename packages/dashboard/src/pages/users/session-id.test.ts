/** Tests of the session of an access token. */
import { describe, expect, test } from "bun:test";
import { sessionIdOf } from "./session-id.ts";

function tokenOf(claims: unknown): string {
  return `x.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.y`;
}

describe("the session of a token", () => {
  test("the claim is read, with the letters of base64url, too", () => {
    expect(sessionIdOf(tokenOf({ sid: "ses_1", sub: "usr_??>>" }))).toBe("ses_1");
  });

  test("a text that is no token has no session", () => {
    expect(sessionIdOf(null)).toBeNull();
    expect(sessionIdOf("")).toBeNull();
    expect(sessionIdOf("a.b.c")).toBeNull();
    expect(sessionIdOf(tokenOf(null))).toBeNull();
    expect(sessionIdOf(tokenOf({ sid: 7 }))).toBeNull();
  });
});
