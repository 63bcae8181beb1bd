// Bytes as people look at them. Pure.

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** null: it is no text, or not one that a field of a page would give back as it was. */
export function readable(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return /[\0\r\uFEFF]/.test(text) ? null : text;
  } catch {
    return null;
  }
}

const WIDTH = 16;
const MOST_LINES = 256;

/** "00000000  7b 22 69 64  {"id": lines of 16 bytes. */
export function hex(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length && lines.length < MOST_LINES; at += WIDTH) {
    const part = Array.from(bytes.slice(at, at + WIDTH));
    const digits = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const signs = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${digits.padEnd(WIDTH * 3)} ${signs}`);
  }
  const left = bytes.length - lines.length * WIDTH;
  return lines.join("\n") + (left > 0 ? `\n… ${left} more` : "");
}
