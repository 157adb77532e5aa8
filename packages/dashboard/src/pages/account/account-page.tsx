/** The admin's own account (`/_/account`): password, second factor, passkeys, sessions. */

import { Box } from "@mantine/core";
import type { User } from "@socle/protocol";
import { Fact, Facts, formatDateTime, Page, Panel } from "../../kit/index.ts";
import { useSession } from "../../service/session.ts";
import { text } from "../../texts/index.ts";
import { RoleMark } from "../users/role-mark.tsx";
import classes from "./account.module.css";
import { FactorPanel } from "./factor-panel.tsx";
import { PasskeysPanel } from "./passkeys-panel.tsx";
import { PasswordPanel } from "./password-panel.tsx";
import { SessionsPanel } from "./sessions-panel.tsx";

export function AccountPage() {
  const session = useSession();
  // Without a user, the router is on the way to the sign-in.
  if (session.phase === "out") return null;
  const { user } = session;
  return (
    <Page title={text.account.title}>
      <div className="pair">
        <div className={classes["column"]}>
          <AboutPanel user={user} />
          <PasswordPanel user={user} />
        </div>
        <div className={classes["column"]}>
          <FactorPanel user={user} />
          <PasskeysPanel user={user} />
        </div>
      </div>
      <SessionsPanel user={user} />
    </Page>
  );
}

function AboutPanel({ user: { email, role, createdAt, id } }: { user: User }) {
  return (
    <Panel title={text.account.about}>
      <Box px="md" pb="sm">
        <Facts>
          <Fact name={text.users.email} value={email} copy={text.users.copyEmail} />
          <Fact name={text.users.role} value={<RoleMark role={role} />} />
          <Fact name={text.users.createdAt} value={formatDateTime(createdAt)} />
          <Fact name={text.users.id} value={id} isMono copy={text.users.copyId} />
        </Facts>
      </Box>
    </Panel>
  );
}
