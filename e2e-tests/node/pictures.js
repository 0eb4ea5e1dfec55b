// Takes pictures of the live page of a busy worker in headless Chromium, after a minute in which its timeline fills,
// for test_pictures.py, and prints how many milliseconds a page needs to paint anything, to show rows, and all models, as JSON:
// node pictures.js CHROMIUM ADDRESS FOLDER
'use strict';

const path = require('node:path');
const { run } = require('./browser.js');

const [program, address, folder] = process.argv.slice(2);
const PICTURES = [
  { name: 'ui-light', width: 1280, height: 900, colorScheme: 'light' },
  { name: 'ui-dark', width: 1280, height: 900, colorScheme: 'dark' },
  { name: 'ui-narrow', width: 400, height: 800, colorScheme: 'light' },
];
const OPENED = 5;
const FULL_MILLIS = 62_000;
const REDRAWN_MILLIS = 2_500;
const PATIENCE_MILLIS = 120_000;

async function open(browser, seen, { width, height, colorScheme }) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.on('pageerror', (error) => seen.errors.push(String(error)));
  await page.goto(`http://${address}/ui`, { waitUntil: 'commit' });
  return page;
}

/** Milliseconds from the navigation on. */
async function time(browser, seen) {
  const page = await open(browser, seen, PICTURES[0]);
  const painted = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const look = () => {
          if (document.querySelector('#models .body .name')) requestAnimationFrame(() => resolve(performance.now()));
          else requestAnimationFrame(look);
        };
        look();
      }),
  );
  const all = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const look = () => {
          if (document.getElementById('state')?.textContent === 'live') resolve(performance.now());
          else requestAnimationFrame(look);
        };
        look();
      }),
  );
  const first = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
  seen.first.push(Math.round(first));
  seen.painted.push(Math.round(painted));
  seen.all.push(Math.round(all));
  await page.context().close();
}

run(program, async (browser, seen) => {
  Object.assign(seen, { first: [], painted: [], all: [] });
  for (let i = 0; i < OPENED; i++) await time(browser, seen);
  const page = await open(browser, seen, PICTURES[0]);
  await page.waitForTimeout(FULL_MILLIS);
  for (const { name, width, height, colorScheme } of PICTURES) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height });
    await page.waitForTimeout(REDRAWN_MILLIS);
    await page.screenshot({ path: path.join(folder, `${name}.png`), timeout: PATIENCE_MILLIS });
  }
});
