// Opens the live page in headless Chromium, uses it, and prints what it saw as JSON, for test_page.py:
// node page.js CHROMIUM ADDRESS FOLDER_FOR_PICTURES [SIZE_ONLY]
'use strict';

const path = require('node:path');
const { chromium } = require('playwright-core');

const [program, address, folder, only] = process.argv.slice(2);
const SIZES = { narrow: [400, 800], usual: [1280, 900], large: [3840, 2160] };
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

const rows = (page) =>
  page.$$eval('#body [role=row]', (all) =>
    all.filter((row) => !row.hidden).map((row) => [...row.children].map((cell) => cell.textContent)),
  );
const text = (page, id) => page.locator(`#${id}`).innerText();

/** How many requests the page has made of anybody else, and what it complained of. */
function watched(page, seen) {
  page.on('request', (request) => {
    if (new URL(request.url()).host !== address && !request.url().startsWith('blob:')) seen.elsewhere.push(request.url());
  });
  page.on('console', (message) => {
    if (message.type() === 'error') seen.errors.push(message.text());
  });
  page.on('pageerror', (error) => seen.errors.push(String(error)));
}

async function use(page, seen) {
  seen.rowCount = await page.locator('#table').getAttribute('aria-rowcount');
  seen.rows = await rows(page);
  seen.elements = await page.locator('#body [role=row]').count();
  seen.uses = await text(page, 'uses');
  seen.facts = await text(page, 'facts');
  await page.locator('#table').focus();
  await page.keyboard.press('End');
  await page.locator('#body .chosen').waitFor();
  const active = await page.locator('#table').getAttribute('aria-activedescendant');
  seen.last = await page.locator(`#${active}`).getAttribute('aria-rowindex');
  const lastName = await page.locator('#body .chosen .name').innerText();
  await page.keyboard.press('Home');
  seen.first = await page.locator('#body .chosen .name').innerText();
  seen.details = await text(page, 'details');
  await page.locator('#programs td').first().waitFor();
  seen.programs = await text(page, 'programs');
  const change = page.getByRole('button', { name: 'Change weight' });
  if (await change.count()) {
    await change.click();
    await page.getByLabel('New weight').fill('2.5');
    await page.getByRole('button', { name: 'Do it' }).click();
    await page.locator('#done', { hasText: 'done' }).waitFor();
    seen.changed = await text(page, 'done');
  }
  await page.getByRole('columnheader', { name: 'Model' }).getByRole('button').click();
  seen.sorted = (await rows(page)).slice(0, 3).map((row) => row[0]);
  seen.sort = await page.getByRole('columnheader', { name: 'Model' }).getAttribute('aria-sort');
  await page.keyboard.press('/');
  await page.keyboard.type(lastName);
  seen.filtered = (await rows(page)).map((row) => row[0]);
  await page.locator('#filter').fill('');
  await page.keyboard.press('Escape');
  await page.keyboard.press('p');
  seen.paused = await page.getByRole('button', { name: 'Go on' }).getAttribute('aria-pressed');
  await page.keyboard.press('p');
  seen.named = await page.getByRole('grid', { name: 'Models' }).count();
  seen.timeline = await page.getByRole('img', { name: /of the device: .* runs/ }).count();
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save for Perfetto' }).click()]);
  await saved.saveAs(path.join(folder, 'trace.json'));
  const record = page.getByRole('button', { name: 'Download as JFR' });
  seen.recordable = await record.isVisible();
  if (seen.recordable) {
    const [recorded] = await Promise.all([page.waitForEvent('download'), record.click()]);
    await recorded.saveAs(path.join(folder, recorded.suggestedFilename().replace(/.*\./, 'recording.')));
  }
}

async function main() {
  const browser = await chromium.launch({ executablePath: program, args: FLAGS });
  const seen = { elsewhere: [], errors: [], overflow: {}, ground: {} };
  try {
    for (const scheme of ['light', 'dark']) {
      for (const [size, [width, height]] of Object.entries(SIZES)) {
        if (only && size !== only) continue;
        const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, acceptDownloads: true });
        const page = await context.newPage();
        watched(page, seen);
        await page.goto(`http://${address}/ui`);
        await page.locator('#body .name').first().waitFor();
        await page.locator('#uses li').first().waitFor(); // what the device did is known from the second event on
        if (size === 'usual') await page.waitForTimeout(2500); // for shares of more than one second
        await page.screenshot({ path: path.join(folder, `page-${size}-${scheme}.png`) });
        seen.overflow[size] = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        seen.ground[scheme] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        if (size === 'usual' && scheme === 'light') await use(page, seen);
        await context.close();
      }
    }
  } finally {
    await browser.close();
  }
  process.stdout.write(JSON.stringify(seen));
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
