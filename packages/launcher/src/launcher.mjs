#!/usr/bin/env node
/**
 * The command `socle` of the npm package: starts the executable of this platform, which an optional package brings. The executable has
 * the terminal; this process passes signals on, and ends as the executable ends.
 *
 * This process stays beside the executable: a script of installation that replaces this file does not run everywhere, and Node
 * replaces its own process only from version 22.15 on, as an experiment that aborts without a message when the start fails.
 */
import { spawn } from "node:child_process";
import { accessSync, chmodSync, constants, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { constants as system } from "node:os";
import { dirname, join } from "node:path";
import { isatty } from "node:tty";

/** A failure that the user can mend: told in a line. */
class Problem extends Error {}

/** The oldest C library under which the executable for Linux starts. */
const oldestGlibc = "2.17";
/** How often this process looks whether npx is still running, in milliseconds. */
const parentInterval = 500;

const { version, optionalDependencies } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const builds = Object.keys(optionalDependencies).map((name) => name.replace("@socle/", ""));

/** The version of the C library; undefined with musl. */
function glibcVersion() {
  // Otherwise the report looks up the names of all connected addresses.
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime;
}

function isOlder(one, other) {
  const [[major, minor], [otherMajor, otherMinor]] = [one, other].map((text) => text.split(".").map(Number));
  return major < otherMajor || (major === otherMajor && minor < otherMinor);
}

/** The name of this platform, as the optional packages have the name. @throws Problem without a build for the platform. */
function platformName() {
  const { platform, arch } = process;
  const systems = { linux: "linux", darwin: "darwin", win32: "windows" };
  const glibc = platform === "linux" ? glibcVersion() : undefined;
  const musl = platform === "linux" && glibc === undefined ? "-musl" : "";
  const name = `${systems[platform] ?? platform}-${arch}${musl}`;
  if (!builds.includes(name))
    throw new Problem(
      `there is no build for ${name}; the builds: ${builds.join(", ")}. Run the service on such a machine; the client runs everywhere`,
    );
  if (glibc !== undefined && isOlder(glibc, oldestGlibc))
    throw new Problem(
      `this system has glibc ${glibc}, and the executable needs ${oldestGlibc} or later: take a newer system or a container`,
    );
  return name;
}

/** The path of the executable. @throws Problem if npm has left out the package, or if the file cannot be executed. */
function findExecutable() {
  const name = platformName();
  let folder;
  try {
    folder = dirname(createRequire(import.meta.url).resolve(`@socle/${name}/package.json`));
  } catch {
    throw new Problem(
      `the package @socle/${name} is missing: npm left out optional packages, or installed for another platform. The way on: remove node_modules and package-lock.json, then npm install --include=optional socle@${version}`,
    );
  }
  const path = join(folder, "bin", process.platform === "win32" ? "socle.exe" : "socle");
  try {
    accessSync(path, constants.X_OK);
  } catch {
    makeExecutable(path);
  }
  return path;
}

/** Gives the right to execute a file, which some tools take away when they unpack a package. */
function makeExecutable(path) {
  try {
    chmodSync(path, 0o755);
    accessSync(path, constants.X_OK);
  } catch (error) {
    throw new Problem(
      `${path} cannot be executed (${error.code}): the file is missing, the folder is read-only, or the disk is mounted with noexec. The way on: install into another folder; for npx, npm_config_cache=FOLDER npx socle`,
    );
  }
}

/** The name of the command for advice: only a global installation is in a folder of programs. */
function commandName() {
  return /[\\/]node_modules[\\/]/.test(process.argv[1] ?? "") ? "npx socle" : "socle";
}

/** Ends this process as the executable has ended. */
function endAs(code, signal) {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Node itself handles some signals.
  setTimeout(() => process.exit(128 + system.signals[signal]), 100);
}

/** Starts the executable. */
function start(path) {
  // The executable ends with this process, also when this process is killed.
  const env = { ...process.env, BUN_FEATURE_FLAG_NO_ORPHANS: "1" };
  const child = spawn(path, process.argv.slice(2), { stdio: "inherit", argv0: commandName(), env });
  child.on("error", ({ message }) =>
    fail(
      new Problem(
        `${path} cannot be started: ${message}. The way on: a system with the usual C library, or a container`,
      ),
    ),
  );
  child.on("exit", endAs);
  const passOn = (signal) => child.kill(signal);
  // The terminal sends its signals to the executable, too.
  const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, hasTerminal ? () => undefined : passOn);
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, passOn);
  if (process.env.npm_command === "exec") stopWithNpx(child);
}

/** The process of npx: the parent, or the parent of the shell in between, which stays beside its command on Linux alone. */
function npxBehind(parent) {
  try {
    const [, name, grandparent] = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${parent}/stat`, "utf8"));
    return name.endsWith("sh") ? Number(grandparent) : parent;
  } catch {
    return parent;
  }
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Ends the executable when npx has ended: the shell in between may die of a signal, or live on, without passing the end on. */
function stopWithNpx(child) {
  const parent = process.ppid;
  const npx = npxBehind(parent);
  const timer = setInterval(() => {
    if (process.ppid === parent && isRunning(npx)) return;
    clearInterval(timer);
    child.kill("SIGTERM");
  }, parentInterval);
}

function fail(error) {
  if (!(error instanceof Problem)) throw error;
  console.error(`socle: ${error.message}`);
  process.exit(1);
}

try {
  start(findExecutable());
} catch (error) {
  fail(error);
}
