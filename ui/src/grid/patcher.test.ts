import { expect, test } from "vitest";
import { AT_MOST_EVERY_MS, Patcher } from "./patcher";

class Clock {
  at = 1000;
  private plans: [number, () => void][] = [];
  now = () => this.at;
  later = (ms: number, act: () => void) => {
    this.plans.push([this.at + ms, act]);
  };

  async pass(ms: number): Promise<void> {
    const end = this.at + ms;
    for (;;) {
      const [next] = this.plans.filter(([when]) => when <= end).sort((a, b) => a[0] - b[0]);
      if (next === undefined) break;
      this.plans = this.plans.filter((one) => one !== next);
      this.at = Math.max(this.at, next[0]);
      next[1]();
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
    }
    this.at = end;
  }
}

function made(): { clock: Clock; asked: number[][]; patcher: Patcher } {
  const clock = new Clock();
  const asked: number[][] = [];
  const patcher = new Patcher((ids) => {
    asked.push(ids);
    return Promise.resolve();
  }, clock);
  return { clock, asked, patcher };
}

test("a lone change is asked for at once", async () => {
  const { clock, asked, patcher } = made();
  patcher.see([1, 2]);
  await clock.pass(1000);
  expect(asked).toEqual([]);
  patcher.hear();
  await clock.pass(1);
  expect(asked).toEqual([[1, 2]]);
});

test("a stream of changes is asked for at most every so often, and the last one is not lost", async () => {
  const { clock, asked, patcher } = made();
  patcher.see([1]);
  for (let change = 0; change < 300; change += 1) {
    patcher.hear();
    await clock.pass(5);
  }
  const during = asked.length;
  expect(during).toBeLessThanOrEqual(1 + 1500 / AT_MOST_EVERY_MS);
  expect(during).toBeGreaterThan(7);
  patcher.hear();
  await clock.pass(1000);
  expect(asked.length).toBeGreaterThan(during);
  const done = asked.length;
  await clock.pass(5000);
  expect(asked.length).toBe(done);
});

test("rows that were loaded before the last change are asked for when they come into sight", async () => {
  const { clock, asked, patcher } = made();
  patcher.loaded([7, 8], clock.now());
  await clock.pass(10);
  patcher.hear();
  await clock.pass(500);
  expect(asked).toEqual([]);
  patcher.loaded([9], clock.now());
  patcher.see([7, 9]);
  await clock.pass(500);
  expect(asked).toEqual([[7]]);
});

test("a change while somebody asks is asked for afterwards", async () => {
  const clock = new Clock();
  let answer = () => {};
  let asked = 0;
  const patcher = new Patcher(() => {
    asked += 1;
    return new Promise<void>((resolve) => (answer = resolve));
  }, clock);
  patcher.see([1]);
  patcher.hear();
  await clock.pass(1);
  await clock.pass(50);
  patcher.hear();
  await clock.pass(500);
  expect(asked).toBe(1);
  answer();
  await Promise.resolve();
  await Promise.resolve();
  await clock.pass(500);
  expect(asked).toBe(2);
});
