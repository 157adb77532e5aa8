/** A button that mails a user a link; without the configuration that links need, a note in place of the mail. */

import { useMutation } from "@tanstack/react-query";
import { IconMail } from "../../icons/index.ts";
import { Action, CodeText, Dim, notifyDone, notifyFailure } from "../../kit/index.ts";
import { useMissingForLinks } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { refreshMails } from "../mails/queries.ts";

interface SendMailProps {
  label: string;
  /** Told when the mail is written. */
  done: string;
  send: () => Promise<void>;
}

export function SendMail({ label, done, send }: SendMailProps) {
  const missing = useMissingForLinks();
  const sending = useMutation({
    mutationFn: send,
    onSuccess: async () => {
      notifyDone(done);
      await refreshMails();
    },
    onError: notifyFailure,
  });
  return (
    <>
      <Action
        icon={IconMail}
        label={label}
        size="compact-xs"
        disabled={missing.length > 0}
        loading={sending.isPending}
        onClick={() => sending.mutate()}
      />
      {missing.length > 0 && (
        <Dim>
          <CodeText text={text.mails.needs(missing)} />
        </Dim>
      )}
    </>
  );
}
