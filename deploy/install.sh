#!/bin/sh
# Installs or replaces the executable of Socle from a release: sh install.sh PLACE [FOLDER]
#   PLACE   the address (https://…) or the folder of a release, with SHA256SUMS and SHA256SUMS.sig
#   FOLDER  where the executable goes; without FOLDER, $HOME/.local/bin
# The signature of the release and the sum of the archive are checked before the archive is opened. An executable that is there
# keeps a name of its own. Nothing else is changed: no shell profile, no service.
set -eu

key='@KEY@'

fail() {
  echo "install.sh: $1" >&2
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

place=${1:?usage: sh install.sh PLACE [FOLDER]}
folder=${2:-$HOME/.local/bin}

case $(uname -s) in
Linux) system=linux ;;
Darwin) system=macos ;;
*) fail "there is no build for $(uname -s); Windows has socle-VERSION-windows-x64.tar.gz" ;;
esac
case $(uname -m) in
x86_64 | amd64) processor=x64 ;;
aarch64 | arm64) processor=arm64 ;;
*) fail "there is no build for the processor $(uname -m)" ;;
esac
libc=
if [ $system = linux ] && ! [ -e /lib64/ld-linux-x86-64.so.2 ] && ! [ -e /lib/ld-linux-aarch64.so.1 ]; then libc=-musl; fi
platform=$system-$processor$libc

mkdir -p "$folder" 2>/dev/null || fail "$folder cannot be made; name another folder: sh install.sh PLACE FOLDER"
[ -w "$folder" ] || fail "$folder cannot be written; name another folder, or run as a user with the right"
# Beside the executable: the new file changes its name at the end, which works within a disk only.
work=$(mktemp -d "$folder/.socle-install-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

fetch() {
  case $place in
  https://* | http://127.0.0.1:* | http://localhost:*)
    if has curl; then curl -fsSL -o "$work/$1" "${place%/}/$1" || fail "${place%/}/$1 cannot be fetched"
    elif has wget; then wget -q -O "$work/$1" "${place%/}/$1" || fail "${place%/}/$1 cannot be fetched"
    else fail "curl or wget is needed"; fi ;;
  *://*) fail "$place: a release comes from a folder or over https" ;;
  *) cp "$place/$1" "$work/$1" || fail "$place/$1 cannot be read, or there is no room in $folder" ;;
  esac
}

# Ed25519 with OpenSSL 3, or with Node: LibreSSL of macOS does not know the signature.
is_signed() {
  printf '%s' "$key" | sed 's/-/+/g; s/_/\//g' >"$work/key64"
  if has openssl && openssl version | grep -q '^OpenSSL [3-9]'; then
    { printf '%s\n' '-----BEGIN PUBLIC KEY-----'
      # The DER head of an Ed25519 key (RFC 8410), then the 32 bytes of the key.
      { printf '\060\052\060\005\006\003\053\145\160\003\041\000'; { cat "$work/key64"; echo =; } | openssl base64 -d -A; } | openssl base64
      printf '%s\n' '-----END PUBLIC KEY-----'; } >"$work/key.pem"
    openssl base64 -d -A <"$work/SHA256SUMS.sig" >"$work/signature"
    openssl pkeyutl -verify -pubin -inkey "$work/key.pem" -rawin -in "$work/SHA256SUMS" -sigfile "$work/signature" >/dev/null 2>&1
  elif has node; then
    node -e '
      const { readFileSync } = require("fs"), [key, folder] = process.argv.slice(1);
      const jwk = { key: { kty: "OKP", crv: "Ed25519", x: key }, format: "jwk" };
      const signature = Buffer.from(readFileSync(`${folder}/SHA256SUMS.sig`, "utf8"), "base64");
      process.exit(require("crypto").verify(null, readFileSync(`${folder}/SHA256SUMS`), jwk, signature) ? 0 : 1);
    ' "$key" "$work"
  else fail "the signature cannot be checked here: OpenSSL 3 or Node is needed"; fi
}

fetch SHA256SUMS
fetch SHA256SUMS.sig
is_signed || fail "the signature of SHA256SUMS is not by the key of Socle's releases; nothing was installed"
line=$(grep -E "^[0-9a-f]{64}  socle-[^ ]*-$platform\.tar\.gz\$" "$work/SHA256SUMS") || fail "the release has no build for $platform"
archive=${line#*  }
fetch "$archive"
if has sha256sum; then sum=$(sha256sum "$work/$archive"); else sum=$(shasum -a 256 "$work/$archive"); fi
[ "${sum%% *}" = "${line%% *}" ] || fail "$archive is damaged or incomplete: its sum differs from SHA256SUMS; fetch it again"
tar -xzf "$work/$archive" -C "$work" socle || fail "$archive cannot be opened, or there is no room in $folder"
version=$("$work/socle" version 2>&1) || fail "$archive does not start on this machine: $version"

if [ -e "$folder/socle" ]; then
  old=$("$folder/socle" version 2>/dev/null) || old=old
  [ "$old" != "$version" ] || { echo "$folder/socle is $version already"; exit 0; }
  ln -f "$folder/socle" "$folder/socle-$old"
  echo "The former executable is $folder/socle-$old"
fi
mv -f "$work/socle" "$folder/socle"
echo "$folder/socle is $version"
case :$PATH: in
*:"$folder":*) echo "Next: socle init app && cd app && socle dev" ;;
*) echo "Next: $folder/socle init app && cd app && $folder/socle dev   ($folder is not in PATH)" ;;
esac
