/** The refusals of routes in `limits.requests`: the message names the wrong part, and the right form. */
import { expect, test } from "bun:test";
import { requestLimits } from "./request-limits.ts";

const parse = (routes: string) => requestLimits.parse([{ routes, per: "user", max: 1, window: "1m" }]);

test.each([
  ["POST /api/function/buy/[event]", '"[event]" stands for no other text here: write "POST /api/function/buy/*"'],
  ["/api/function/buy/:id/items", '":id" stands for no other text here: write "/api/function/buy/*"'],
  ["/a/[...rest]", 'write "/a/*"'],
  ["/{id}", 'write "/*"'],
  ["HEAD /a", 'HEAD counts as GET: write "GET /a"'],
  ["OPTIONS /a", '"OPTIONS" is no method: write GET, POST, PUT, PATCH or DELETE'],
  ["get /a", '"get" is no method: write GET'],
  ["GET /a/", 'a slash at the end does not count: write "GET /a"'],
  ["a/b", '"a/b" must begin with "/"'],
  ["/a*", '"*" must be the whole last part'],
  ["/a?b", '"/a?b" must have parts without ? and #'],
  ["/a//b", '"/a//b" must have parts without spaces, and no empty part'],
])("%s is refused", (routes, message) => {
  expect(() => parse(routes)).toThrow(message);
});

test.each(["*", "/", "/*", "GET /a", "/a/*", "PATCH /a.b/c:d/%5Bx%5D"])("%s is right", (routes) => {
  expect(parse(routes)).toEqual([{ routes, per: "user", max: 1, windowMs: 60_000 }]);
});
