/** The list of pages, the search, the account. */
import {
  Box,
  Group,
  Image,
  Kbd,
  Menu,
  NavLink,
  ScrollArea,
  Stack,
  Text,
  UnstyledButton,
  useMantineColorScheme,
  VisuallyHidden,
} from "@mantine/core";
import { useLocalStorage, useMediaQuery } from "@mantine/hooks";
import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import iconUrl from "../assets/icon.svg";
import {
  IconActivity,
  IconAlertTriangle,
  IconApi,
  IconBolt,
  IconChevronLeft,
  IconChevronRight,
  IconChevronUp,
  IconClockPlay,
  IconDatabase,
  IconDatabaseExport,
  IconDeviceDesktop,
  IconFileText,
  IconFolder,
  IconGauge,
  IconKey,
  IconKeyboard,
  IconLayoutDashboard,
  IconLogout,
  IconMail,
  IconMoon,
  IconPlugConnected,
  IconSearch,
  IconSettings,
  IconSun,
  IconTerminal2,
  IconUserCircle,
  IconUsers,
} from "../icons/index.ts";
import { Keys, notifyFailure, useIsNarrow, useShortcut } from "../kit/index.ts";
import { finishDeletes } from "../service/deletes.ts";
import { type ScriptKind, useOpenFailures, useScriptFiles } from "../service/live.ts";
import { signOut, useSession } from "../service/session.ts";
import { text } from "../texts/index.ts";
import classes from "./navigation.module.css";

const words = text.shell;

export const pages = [
  { to: "/", label: words.overview, icon: IconLayoutDashboard, keys: "g o", section: null },
  { to: "/collections", label: words.collections, icon: IconDatabase, keys: "g c", section: words.sectionData },
  { to: "/users", label: words.users, icon: IconUsers, keys: "g u", section: words.sectionData },
  { to: "/storage", label: words.storage, icon: IconFolder, keys: "g f", section: words.sectionData },
  { to: "/sql", label: words.sql, icon: IconTerminal2, keys: "g q", section: words.sectionData },
  { to: "/functions", label: words.functions, icon: IconBolt, keys: "g n", section: words.sectionCode },
  { to: "/jobs", label: words.jobs, icon: IconClockPlay, keys: "g j", section: words.sectionCode },
  { to: "/api", label: words.api, icon: IconApi, keys: "g a", section: words.sectionCode },
  { to: "/failures", label: words.failures, icon: IconAlertTriangle, keys: "g x", section: words.sectionWatch },
  { to: "/logs", label: words.logs, icon: IconFileText, keys: "g l", section: words.sectionWatch },
  { to: "/events", label: words.events, icon: IconActivity, keys: "g e", section: words.sectionWatch },
  { to: "/queries", label: words.queries, icon: IconGauge, keys: "g w", section: words.sectionWatch },
  { to: "/sockets", label: words.sockets, icon: IconPlugConnected, keys: "g i", section: words.sectionWatch },
  { to: "/mails", label: words.mails, icon: IconMail, keys: "g m", section: words.sectionWatch },
  { to: "/backups", label: words.backups, icon: IconDatabaseExport, keys: "g b", section: words.sectionOperation },
  { to: "/keys", label: words.keys, icon: IconKey, keys: "g k", section: words.sectionOperation },
  { to: "/settings", label: words.settings, icon: IconSettings, keys: "g s", section: words.sectionOperation },
] as const;

export const themes = [
  { value: "light", label: text.shell.themes.light, icon: IconSun },
  { value: "dark", label: text.shell.themes.dark, icon: IconMoon },
  { value: "auto", label: text.shell.themes.auto, icon: IconDeviceDesktop },
] as const;

type PageEntry = (typeof pages)[number];

export interface Rail {
  /** Whether the pages have icons without words. */
  readonly isFolded: boolean;
  readonly toggle: () => void;
}

/** The navigation is folded below 1,200 pixels, until the user decides; a phone has the navigation in a drawer. */
export function useRail(): Rail {
  const isTight = useMediaQuery("(max-width: 75em)", false, { getInitialValueInEffect: false });
  const isNarrow = useIsNarrow();
  const [chosen, choose] = useLocalStorage<"folded" | "open" | "auto">({
    key: "socle.rail",
    defaultValue: "auto",
    getInitialValueInEffect: false,
  });
  const isFolded = !isNarrow && (chosen === "auto" ? isTight : chosen === "folded");
  return { isFolded, toggle: () => choose(isFolded ? "open" : "folded") };
}

interface NavigationProps {
  onSearch: () => void;
  onShortcuts: () => void;
  rail: Rail;
}

export function Navigation({ onSearch, onShortcuts, rail: { isFolded, toggle } }: NavigationProps) {
  const sections = [...new Set(pages.map(({ section }) => section))];
  return (
    <Stack gap={0} h="100%" className={classes["navigation"]} data-is-folded={isFolded || undefined}>
      <Group px="md" py="sm" gap="xs" visibleFrom="sm">
        <Image src={iconUrl} w={26} h={26} alt="" />
        <Text fw={650} fz="lg" className={classes["word"]}>
          Socle
        </Text>
      </Group>
      <UnstyledButton className={classes["search"]} onClick={onSearch}>
        <IconSearch size={15} aria-hidden />
        <span className={classes["word"]}>{text.shell.search}</span>
        <Box component="span" ml="auto" className={classes["keys"]}>
          <Keys keys="mod+k" />
        </Box>
      </UnstyledButton>
      <ScrollArea flex={1} px="xs" type="auto">
        {sections.map((section) => (
          <Box key={section} mb={6}>
            {section !== null && (
              <Text className={classes["sectionName"]}>
                <span className={classes["word"]}>{section}</span>
              </Text>
            )}
            {pages
              .filter((page) => page.section === section)
              .map((page) => (
                <PageLink key={page.to} page={page} isFolded={isFolded} />
              ))}
          </Box>
        ))}
      </ScrollArea>
      <UnstyledButton
        className={classes["fold"]}
        visibleFrom="sm"
        onClick={toggle}
        aria-label={isFolded ? text.shell.unfold : text.shell.fold}
      >
        {isFolded ? <IconChevronRight size={16} aria-hidden /> : <IconChevronLeft size={16} aria-hidden />}
        <span className={classes["word"]}>{text.shell.fold}</span>
      </UnstyledButton>
      <Account onShortcuts={onShortcuts} />
    </Stack>
  );
}

function PageLink({ page, isFolded }: { page: PageEntry; isFolded: boolean }) {
  const { to, label, icon: Icon, keys } = page;
  const kind = to === "/functions" ? "function" : to === "/jobs" ? "job" : undefined;
  const navigate = useNavigate();
  const path = useLocation({ select: ({ pathname }) => pathname });
  const isActive = to === "/" ? path === "/" : path.startsWith(to);
  useShortcut({ keys, label, group: text.shortcuts.goTo }, () => void navigate({ to }));
  const badge = kind === undefined ? null : <ScriptBadge kind={kind} />;
  return (
    <NavLink
      renderRoot={(props) => <Link to={to} {...props} />}
      title={isFolded ? label : undefined}
      label={<span className={classes["word"]}>{label}</span>}
      leftSection={<Icon size={18} stroke={1.6} aria-hidden />}
      rightSection={to === "/failures" ? <FailureBadge /> : badge}
      active={isActive}
      aria-current={isActive ? "page" : undefined}
      className="navLink"
      mb={1}
    />
  );
}

/** Files that do not load. */
function ScriptBadge({ kind }: { kind: ScriptKind }) {
  const broken = (useScriptFiles(kind, false) ?? []).filter(({ problem }) => problem !== null).length;
  return <Badge n={broken} words={text.scripts.failures(broken)} />;
}

function FailureBadge() {
  const open = useOpenFailures();
  return <Badge n={open} words={text.failures.open(open)} />;
}

function Badge({ n, words }: { n: number; words: string }) {
  if (n === 0) return null;
  return (
    <span className={`numbers ${classes["badge"]}`}>
      <span aria-hidden>{n > 99 ? "99+" : n}</span>
      <VisuallyHidden>{words}</VisuallyHidden>
    </span>
  );
}

function Account({ onShortcuts }: { onShortcuts: () => void }) {
  const session = useSession();
  const navigate = useNavigate();
  const path = useLocation({ select: ({ pathname }) => pathname });
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const email = session.phase === "out" ? "" : (session.user.email ?? "");
  const leave = async (): Promise<void> => {
    await finishDeletes();
    await signOut().catch(notifyFailure);
    await navigate({ to: "/login", search: {} });
  };
  return (
    <Menu position="top-start" width={240} withinPortal>
      <Menu.Target>
        <UnstyledButton className={classes["account"]} aria-label={`${text.shell.account}: ${email}`}>
          <IconUserCircle size={18} className={classes["face"] ?? ""} aria-hidden />
          <Text size="sm" truncate className={classes["word"]}>
            {email}
          </Text>
          <IconChevronUp size={16} className={classes["keys"] ?? ""} aria-hidden />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          renderRoot={(props) => <Link to="/account" {...props} />}
          leftSection={<IconUserCircle size={16} />}
          aria-current={path === "/account" ? "page" : undefined}
        >
          {text.account.title}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{text.shell.theme}</Menu.Label>
        {themes.map(({ value, label, icon: Icon }) => (
          <Menu.RadioItem
            key={value}
            rightSection={<Icon size={16} />}
            closeMenuOnClick
            value={value}
            checked={colorScheme === value}
            onChange={() => setColorScheme(value)}
          >
            {label}
          </Menu.RadioItem>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<IconKeyboard size={16} />} rightSection={<Kbd size="xs">?</Kbd>} onClick={onShortcuts}>
          {text.shell.shortcuts}
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={leave}>
          {text.shell.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
