/** The frame of all pages behind the sign-in: navigation, page, bars, and the sign-in over a page. */
import "@mantine/notifications/styles.css";
import { AppShell, Burger, Group, Image, Modal, Stack, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { ModalsProvider } from "@mantine/modals";
import { Notifications } from "@mantine/notifications";
import type { User } from "@socle/protocol";
import { Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect } from "react";
import iconUrl from "../assets/icon.svg";
import { Action, focusPage, Keys, undoLast, useIsNarrow, useShortcut, useShortcutList } from "../kit/index.ts";
import { SignInForm } from "../pages/login/sign-in-form.tsx";
import { queryClient } from "../service/queries.ts";
import { useSignInQuestion } from "../service/recent.ts";
import { signOut, useSession } from "../service/session.ts";
import { text } from "../texts/index.ts";
import { Navigation, useRail } from "./navigation.tsx";
import { PaletteHost } from "./palette-host.tsx";
import { ReadOnlyBar } from "./read-only-bar.tsx";
import classes from "./shell.module.css";
import { UndoBars } from "./undo-bars.tsx";

export function Shell() {
  const isNarrow = useIsNarrow();
  return (
    <ModalsProvider labels={{ confirm: text.common.confirm, cancel: text.common.cancel }}>
      <Frame />
      {/* Bars with buttons stand at the lower edge, at the right and in the middle; on a phone, over its whole width. */}
      <Notifications
        position={isNarrow ? "top-center" : "bottom-left"}
        limit={4}
        className={classes["notifications"] ?? ""}
      />
    </ModalsProvider>
  );
}

function Frame() {
  const [isNavigationOpen, navigation] = useDisclosure();
  const [isPaletteOpen, palette] = useDisclosure();
  const [isListOpen, list] = useDisclosure();
  const session = useSession();
  const rail = useRail();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // The page on the screen: while a page is loaded, the address already names the next page.
  const shown = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  // The choice of a page in the drawer closes the drawer.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path is the reason.
  useEffect(navigation.close, [path]);
  // The element with the focus may be gone with the page before.
  useEffect(() => {
    if (shown !== undefined) focusPage();
  }, [shown]);
  useShortcut({ keys: "mod+k", label: text.shortcuts.palette, group: text.shortcuts.general }, palette.open);
  useShortcut({ keys: "mod+z", label: text.undo.last, group: text.shortcuts.general }, undoLast);
  useShortcut({ keys: "?", label: text.shortcuts.help, group: text.shortcuts.general }, list.open);

  return (
    <>
      <a href="#main" className={classes["skip"]}>
        {text.shell.skip}
      </a>
      <AppShell
        navbar={{ width: rail.isFolded ? 64 : 224, breakpoint: "sm", collapsed: { mobile: !isNavigationOpen } }}
        header={{ height: { base: 52, sm: 0 } }}
        padding={0}
      >
        <AppShell.Header hiddenFrom="sm" className={classes["header"]}>
          <Group h="100%" px="sm" gap="sm">
            <Burger
              opened={isNavigationOpen}
              onClick={navigation.toggle}
              size="sm"
              aria-label={isNavigationOpen ? text.shell.closeNavigation : text.shell.openNavigation}
            />
            <Image src={iconUrl} w={24} h={24} alt="" />
            <Text fw={650}>Socle</Text>
          </Group>
        </AppShell.Header>
        <AppShell.Navbar className={classes["navbar"]} aria-label={text.shell.navigation}>
          <Navigation onSearch={palette.open} onShortcuts={list.open} rail={rail} />
        </AppShell.Navbar>
        <AppShell.Main id="main" tabIndex={-1} className={classes["main"]}>
          <ReadOnlyBar />
          <Outlet />
        </AppShell.Main>
      </AppShell>
      <UndoBars />
      {isPaletteOpen && <PaletteHost onClose={palette.close} />}
      <ShortcutList isOpen={isListOpen} onClose={list.close} />
      {session.phase === "in" && <RecentSignInDialog user={session.user} />}
      {session.phase === "expired" && <ReloginDialog user={session.user} />}
    </>
  );
}

function ReloginDialog({ user }: { user: User }) {
  const navigate = useNavigate();
  const leave = async (): Promise<void> => {
    // The session is over: the service has no session left to end.
    await signOut().catch(() => undefined);
    queryClient.clear();
    await navigate({ to: "/login", search: {} });
  };
  return (
    <Modal
      opened
      onClose={() => undefined}
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
      title={text.login.expiredTitle}
      zIndex={1_000}
    >
      <Stack>
        <Text size="sm">{text.login.expiredBody}</Text>
        <SignInForm email={user.email ?? ""} onDone={() => queryClient.invalidateQueries()} />
        <Action label={text.login.otherAccount} isQuiet onClick={leave} />
      </Stack>
    </Modal>
  );
}

/** The sign-in before a change of credentials, over the form or the question that began the change. */
function RecentSignInDialog({ user }: { user: User }) {
  const question = useSignInQuestion();
  if (question === null) return null;
  return (
    <Modal
      opened
      onClose={() => question.answer(false)}
      withCloseButton={false}
      closeOnClickOutside={false}
      // The key would also close the dialog below.
      closeOnEscape={false}
      title={text.login.recentTitle}
      zIndex={900}
    >
      <Stack>
        <Text size="sm">{text.login.recentBody}</Text>
        <SignInForm email={user.email ?? ""} onDone={async () => question.answer(true)} />
        <Action label={text.common.cancel} isQuiet onClick={() => question.answer(false)} />
      </Stack>
    </Modal>
  );
}

function ShortcutList({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const shortcuts = useShortcutList(isOpen);
  const groups = [...new Set(shortcuts.map(({ group }) => group))];
  return (
    <Modal opened={isOpen} onClose={onClose} title={text.shortcuts.title}>
      <Stack>
        {groups.map((group) => (
          <Stack key={group} gap={6}>
            <Title order={3} size="h6">
              {group}
            </Title>
            {shortcuts
              .filter((shortcut) => shortcut.group === group)
              .map(({ keys, label }) => (
                <Group key={keys} justify="space-between" wrap="nowrap">
                  <Text size="sm">{label}</Text>
                  <Keys keys={keys} size="sm" />
                </Group>
              ))}
          </Stack>
        ))}
      </Stack>
    </Modal>
  );
}
