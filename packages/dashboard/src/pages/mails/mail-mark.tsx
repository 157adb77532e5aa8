/** The status of a mail, with an icon. */
import type { MailStatus } from "@socle/protocol";
import { IconCircleCheck, IconCircleX, IconClock, IconInbox } from "../../icons/index.ts";
import { Mark, type Tone } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

const marks: { readonly [status in MailStatus]: { tone: Tone; icon: typeof IconClock } } = {
  waiting: { tone: "quiet", icon: IconClock },
  sent: { tone: "good", icon: IconCircleCheck },
  failed: { tone: "bad", icon: IconCircleX },
  kept: { tone: "quiet", icon: IconInbox },
};

export function MailMark({ status }: { status: MailStatus }) {
  return <Mark {...marks[status]}>{text.mails.statuses[status]}</Mark>;
}
