/**
 * Templates of mails: the built-in texts and the files of the project (`mails/{kind}.txt`, `.html`, `mails/{kind}.{language}.txt`,
 * `.html`), checked at the start, and filled with values.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { adviceOnName, escapeHtml, messageOf, SetupError } from "../../base/kernel/index.ts";
import { commonPlaceholders, type MailKind, mailKinds } from "./texts.ts";

/** Bytes of a file at most. */
const maxFile = 256 * 1024;
/** Characters of a subject at most, also with the values filled in. */
export const maxSubject = 250;

const fileName = /^([a-z]+)(?:\.([A-Za-z0-9]+(?:-[A-Za-z0-9]+)*))?\.(txt|html)$/;
const placeholder = /\{\{\s*([^{}]*?)\s*\}\}/g;
/** Control characters, line separators and changes of the writing direction: a value is a single line of plain text. */
const unfit = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]+/gu;

/** A subject and bodies, with placeholders. */
interface Template {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A mail as the recipient reads the mail. */
export interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
}

/** The bodies of a name: `verify` or `verify.de`. */
type Parts = { txt?: string; html?: string };

export class Templates {
  /** By kind, or by kind and language: `verify`, `verify.de`. */
  readonly #templates: ReadonlyMap<string, Template>;

  /**
   * @param folder the folder of the project's files, which may be missing.
   * @throws SetupError for a file that is not valid.
   */
  constructor(folder: string) {
    const own = readFolder(folder);
    const templates = new Map<string, Template>();
    for (const [kind, { text }] of Object.entries(mailKinds))
      templates.set(kind, templateOf(own.get(kind)?.txt ?? text, own.get(kind)?.html));
    for (const [name, { txt, html }] of own) {
      if (txt === undefined && !templates.has(name))
        throw new SetupError(`${join(folder, name)}.html: needs ${name}.txt beside it, which has the subject`);
      if (txt !== undefined) templates.set(name, templateOf(txt, html));
    }
    this.#templates = templates;
  }

  /**
   * Fills the template of a kind. Values are escaped in HTML.
   * @param language a language tag, or a value of `Accept-Language`: the first language counts.
   */
  fill(kind: MailKind, language: string | null, values: Readonly<Record<string, string>>): MailText {
    const { subject, text, html } = this.#find(kind, language);
    return {
      subject: plain(filled(subject, values, plain))
        .trim()
        .slice(0, maxSubject),
      text: filled(text, values, plain),
      html: filled(html, values, (value) => escapeHtml(plain(value))),
    };
  }

  #find(kind: MailKind, language: string | null): Template {
    const [tag = ""] = /^[a-z0-9-]+/.exec((language ?? "").slice(0, 100).trim().toLowerCase()) ?? [];
    const [primary = ""] = tag.split("-");
    for (const name of [`${kind}.${tag}`, `${kind}.${primary}`, kind]) {
      const found = this.#templates.get(name);
      if (found !== undefined) return found;
    }
    throw new Error(`The mail ${kind} has no text`);
  }
}

/** A value without line breaks and other control characters, which could make headers or lines. */
export function plain(value: string): string {
  return value.replace(unfit, " ");
}

function filled(template: string, values: Readonly<Record<string, string>>, form: (value: string) => string): string {
  return template.replace(placeholder, (_, name: string) => form(values[name] ?? ""));
}

function readFolder(folder: string): Map<string, Parts> {
  const found = new Map<string, Parts>();
  if (!existsSync(folder)) return found;
  for (const file of readdirSync(folder).toSorted()) {
    if (!/\.(txt|html)$/.test(file) || /^[._]/.test(file)) continue;
    const path = join(folder, file);
    const [, kind = "", language, type] = fileName.exec(file) ?? [];
    if (!isKind(kind)) {
      const kinds = Object.keys(mailKinds);
      throw new SetupError(`${path}: no mail has this name.${adviceOnName(file.split(".")[0] ?? "", kinds)}`);
    }
    const name = language === undefined ? kind : `${kind}.${language.toLowerCase()}`;
    const content = readChecked(path, kind);
    if (type === "txt" && !/^Subject: *\S/.test(content))
      throw new SetupError(`${path}: the first line must be the subject, as in "Subject: Hello"`);
    if (type === "txt" && content.slice(content.indexOf("\n")).trim() === "")
      throw new SetupError(`${path}: has no text below the subject`);
    found.set(name, { ...found.get(name), [type === "txt" ? "txt" : "html"]: content });
  }
  return found;
}

function isKind(name: string): name is MailKind {
  return Object.hasOwn(mailKinds, name);
}

/** @throws SetupError for a file that cannot be read, and for a placeholder that the kind does not have. */
function readChecked(path: string, kind: MailKind): string {
  const content = readText(path);
  const allowed: readonly string[] = [...commonPlaceholders, ...mailKinds[kind].placeholders];
  for (const [, name = ""] of content.matchAll(placeholder))
    if (!allowed.includes(name))
      throw new SetupError(`${path}: {{${name}}} is no placeholder of this mail; allowed: ${allowed.join(", ")}`);
  return content;
}

function readText(path: string): string {
  try {
    const bytes = readFileSync(path);
    if (bytes.byteLength > maxFile) throw new SetupError(`${path}: is larger than ${maxFile / 1024} KiB`);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replaceAll("\r\n", "\n");
  } catch (thrown) {
    if (thrown instanceof SetupError) throw thrown;
    throw new SetupError(`${path}: cannot be read as UTF-8 (${messageOf(thrown)})`);
  }
}

/** @param source the first line is the subject. Without HTML of the project, the text gives the HTML. */
function templateOf(source: string, html: string | undefined): Template {
  const [first = "", ...lines] = source.split("\n");
  const text = `${lines.join("\n").trim()}\n`;
  return { subject: first.replace(/^Subject: */, ""), text, html: html ?? htmlOf(text) };
}

/** A plain page with the paragraphs of a text; a link and a code that stand alone stand out. */
function htmlOf(text: string): string {
  const paragraphs = text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => {
      if (/^\{\{\s*link\s*\}\}$/.test(paragraph)) return '<p><a href="{{link}}">{{link}}</a></p>';
      if (/^\{\{\s*code\s*\}\}$/.test(paragraph)) return '<p style="font-size: 2em"><strong>{{code}}</strong></p>';
      return `<p>${escapeHtml(paragraph).replaceAll("\n", "<br>\n")}</p>`;
    });
  return `<!doctype html>
<html>
<head><meta charset="utf-8"></head>
<body style="font-family: sans-serif; line-height: 1.5; max-width: 36em">
${paragraphs.join("\n")}
</body>
</html>
`;
}
