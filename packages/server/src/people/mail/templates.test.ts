/** Texts of mails: files of the project, languages, escaping, and the errors of files that are not valid. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import { Templates } from "./templates.ts";
import { type MailKind, mailKinds } from "./texts.ts";

function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = join(temporaryFolder(), "mails");
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

const values = {
  app: "The Shop",
  to: "ann@example.com",
  link: "https://a.example/x?a=1&b=2",
  code: "1",
  change: "c",
  origin: "o",
};

test("the built-in texts have every placeholder of their kind, and no other", () => {
  const texts = new Templates(join(temporaryFolder(), "none"));
  for (const kind of Object.keys(mailKinds) as MailKind[]) {
    const { placeholders } = mailKinds[kind];
    const own = Object.fromEntries(placeholders.map((name) => [name, `the ${name}`]));
    const { subject, text, html } = texts.fill(kind, null, { app: "The Shop", to: "ann@example.com", ...own });
    expect(`${subject}${text}${html}`).not.toMatch(/[{}]|undefined/);
    expect(subject).not.toBe("");
    for (const value of Object.values(own)) expect([kind, text]).toEqual([kind, expect.stringContaining(value)]);
  }
});

describe("files of the project", () => {
  const texts = new Templates(
    folderOf({
      "verify.txt": "Subject: Hi {{ to }}\r\n\r\nLook <here>:\r\n{{link}}\r\n\r\n{{link}}\r\n",
      "verify.de-AT.txt": "Subject: Servus\n\n{{link}}",
      "verify.de.txt": "Subject: Hallo\n\n{{link}}",
      "reset.html": "<a href='{{link}}' title=\"{{to}}\">x</a>",
      "_layout.html": "{{nothing}}",
      "notes.md": "{{nothing}}",
    }),
  );

  test("replace the built-in texts; without HTML of its own, a text gives the HTML", () => {
    const { subject, text, html } = texts.fill("verify", null, values);
    expect([subject, text]).toEqual(["Hi ann@example.com", `Look <here>:\n${values.link}\n\n${values.link}\n`]);
    const link = "https://a.example/x?a=1&amp;b=2";
    expect(html).toContain(`<p>Look &lt;here&gt;:<br>\n${link}</p>\n<p><a href="${link}">${link}</a></p>`);
    const reset = texts.fill("reset", null, { ...values, link: `https://a/'"><script>`, to: `"'<b>` });
    expect(reset.html).toBe(`<a href='https://a/&#39;&quot;&gt;&lt;script&gt;' title="&quot;&#39;&lt;b&gt;">x</a>`);
    expect(reset.subject).toBe("Set a new password");
  });

  test.each([
    ["de", "Hallo"],
    ["de-CH, fr;q=0.9", "Hallo"],
    ["DE-at,de;q=0.5", "Servus"],
    ["fr, de;q=0.9", "Hi ann@example.com"],
    ["", "Hi ann@example.com"],
    ["*", "Hi ann@example.com"],
    ["../../x", "Hi ann@example.com"],
    [`${"de-".repeat(10_000)}x`, "Hallo"],
    [null, "Hi ann@example.com"],
  ])("the language %p chooses the text", (language, subject) => {
    expect(texts.fill("verify", language, values).subject).toBe(subject);
  });
});

test("values are a line of plain text, in subjects and in bodies", () => {
  const texts = new Templates(folderOf({ "notice.txt": "Subject: {{app}} {{change}}\n\n{{change}}\n" }));
  const change = "A\r\nBcc: eve@example.com\n\n\u2028\u202ex\0";
  const { subject, text, html } = texts.fill("notice", null, { ...values, app: "{{to}}", change });
  expect([subject, text]).toEqual(["{{to}} A Bcc: eve@example.com x", "A Bcc: eve@example.com x \n"]);
  expect(html).not.toMatch(/[\u2028\u202e\0]/);
  const long = texts.fill("notice", null, { ...values, change: "x".repeat(100_000) });
  expect(long.subject.length).toBe(250);
});

test.each<[file: string, content: string | Uint8Array, error: RegExp]>([
  [
    "verify.txt",
    "Subject: x\n\n{{lnk}}",
    /mails\/verify\.txt: \{\{lnk\}\} is no placeholder of this mail; allowed: app, to, link/,
  ],
  ["verify.html", "{{code}}", /mails\/verify\.html: \{\{code\}\} is no placeholder/],
  ["code.txt", "Subject: x {{}}\n\n{{code}}", /\{\{\}\} is no placeholder/],
  ["code.txt", "Hello\n\n{{code}}", /mails\/code\.txt: the first line must be the subject/],
  ["code.txt", "Subject: \n\n{{code}}", /the first line must be the subject/],
  ["code.txt", "Subject: Hi\n\n", /mails\/code\.txt: has no text below the subject/],
  ["code.txt", "", /the first line must be the subject/],
  ["code.de.html", "{{code}}", /mails\/code\.de\.html: needs code\.de\.txt beside it/],
  ["verfy.txt", "Subject: x\n\nx", /mails\/verfy\.txt: no mail has this name\. Did you mean verify\?/],
  ["verify.d_e.txt", "Subject: x\n\nx", /mails\/verify\.d_e\.txt: no mail has this name/],
  ["code.txt", new Uint8Array([0x53, 0xff]), /mails\/code\.txt: cannot be read as UTF-8/],
  ["code.txt", `Subject: x\n\n${"x".repeat(300_000)}`, /mails\/code\.txt: is larger than 256 KiB/],
])("%s with %p ends the start with a line", (file, content, error) => {
  const folder = folderOf({ [file]: content });
  expect(() => new Templates(folder)).toThrow(error);
  expect(() => new Templates(folder)).toThrow(/^[^\n]+$/);
});
