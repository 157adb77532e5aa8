/**
 * The HTML of a mail, in a frame that is fenced in: no script runs, nothing is loaded from another address, and no link opens.
 * The HTML may hold words of strangers.
 */
import { useMemo } from "react";
import { Dim } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import classes from "./mails.module.css";

/** Elements that load, lead to other addresses or run; the policy of the frame bars most of these, too. */
const barred = "base, link, meta, script, template, iframe, frame, object, embed";

/** Resolving the name of a host would tell the owner of the host that the mail is read. */
const fence = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta http-equiv="x-dns-prefetch-control" content="off">`;

/** The document of the frame. A parsed document does nothing before the document stands in the frame. */
function fenced(html: string): string {
  const { documentElement: root, head } = new DOMParser().parseFromString(html, "text/html");
  for (const element of root.querySelectorAll(barred)) element.remove();
  // The frame may open no window, so that these do nothing.
  for (const element of root.querySelectorAll("a, area, form")) element.setAttribute("target", "_blank");
  head.insertAdjacentHTML("afterbegin", fence);
  return `<!doctype html>${root.outerHTML}`;
}

export function MailHtml({ html, subject }: { html: string; subject: string }) {
  const content = useMemo(() => fenced(html), [html]);
  return (
    <>
      <iframe
        className={classes["frame"]}
        title={text.mails.htmlOf(subject)}
        sandbox=""
        referrerPolicy="no-referrer"
        srcDoc={content}
      />
      <Dim mt={4}>{text.mails.htmlNote}</Dim>
    </>
  );
}
