// The page as people use it, in Chromium: browser.mjs TOOL MODEL FOLDER_OF_SCREENSHOTS
// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { serve } from './server.mjs';

const require = createRequire(path.join(process.cwd(), 'x'));
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [tool, model, pictures] = process.argv.slice(2);
const LONG = '{"2": -100}'; // no end of the text before max_tokens

let n_checks = 0;
const check = (value, what) => { n_checks++; assert.ok(value, what); };

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox'] });
async function open(server, options = {}) {
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'], bypassCSP: false, ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on('console', message => { if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) page.faults.push(message.text()); });
  page.on('pageerror', error => page.faults.push(String(error)));
  await page.goto(server.url);
  return page;
}
// Rules of accessibility, by a script that is put there from outside of the page's own rules.
async function accessible(page, what) {
  const client = await page.context().newCDPSession(page);
  await client.send('Runtime.evaluate', { expression: axe });
  const { result } = await client.send('Runtime.evaluate', { awaitPromise: true, returnByValue: true, expression:
    'axe.run({resultTypes: ["violations"]}).then(r => ({n: r.passes.length, bad: r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html.slice(0, 120)).join(" | "))}))' });
  check(result.value.n > 10, 'axe looked at something: ' + what);
  assert.deepEqual(result.value.bad, [], what);
}
const shot = (page, name) => page.screenshot({ path: path.join(pictures, name + '.png') });
const state = (page, pattern, timeout = 20000) => page.waitForFunction(p => new RegExp(p).test(document.getElementById('state').textContent), pattern, { timeout });
const answers = page => page.locator('#log > li.assistant');
async function setting(page, name, value) {
  await page.click('#settings-open');
  await page.fill(`#fields input[name=${name}]`, String(value));
  await page.click('#settings .close');
}

const server = await serve(tool, [model, '--parallel', '2']);
{
  const page = await open(server);
  await state(page, '^Ready');
  check((await page.title()).startsWith('ggufx tiny stories'), 'title');
  await accessible(page, 'empty page');
  await shot(page, 'empty');

  // send, by the keyboard alone; defaults are shown
  await page.click('#settings-open');
  check(await page.getAttribute('#fields input[name=temperature]', 'placeholder') === '1', 'the default of the server');
  await accessible(page, 'settings');
  await shot(page, 'settings');
  await page.keyboard.press('Escape');
  await setting(page, 'max_tokens', 60);
  await setting(page, 'seed', 7);
  await page.focus('#text');
  await page.keyboard.type('Once upon a time');
  await page.keyboard.press('Enter');
  await state(page, '^Done');
  const first = await answers(page).first().locator('.body').innerText();
  check(first.length > 20, 'an answer');
  check(/\d+ tokens, [\d.]+ tokens\/s, \d+ of 512 of the context used/.test(await page.textContent('#state')), await page.textContent('#state'));
  await accessible(page, 'a conversation');
  await shot(page, 'answer');

  // the same seed gives the same text; a drawn one another
  await page.click('text=Regenerate');
  await state(page, '^Done');
  check(await answers(page).first().locator('.body').innerText() === first, 'the same seed, the same answer');
  await setting(page, 'seed', 8);
  await page.click('text=Regenerate');
  await state(page, '^Done');
  check(await answers(page).first().locator('.body').innerText() !== first, 'another seed');

  // edit
  await page.click('text=Edit message');
  await page.fill('#log textarea', 'The sun');
  await page.click('#log .acts >> text=Send');
  await state(page, '^Done');
  check(await page.locator('#log > li').count() === 2, 'an edited message replaces what came after it');
  check(await page.locator('#log > li.user .body').innerText() === 'The sun', 'edited');

  // stop in the middle
  await setting(page, 'max_tokens', 400);
  await page.route('**/v1/chat/completions', route => route.continue({ postData: JSON.stringify({ ...JSON.parse(route.request().postData()), logit_bias: JSON.parse(LONG) }) }));
  await page.fill('#text', 'One day, the dog');
  await page.click('#go');
  // Within the page: by messages to the browser the button would often come too late for a text of 0.1 s.
  check(await page.evaluate(() => new Promise(done => {
    const look = setInterval(() => {
      if (document.querySelector('#log').lastChild.querySelector('.body').textContent.length <= 20) return;
      clearInterval(look);
      const stop = document.querySelector('#stop'), visible = stop.offsetParent !== null;
      stop.click();
      done(visible);
    }, 1);
  })), 'a button to stop');
  await state(page, '^Stopped');
  await page.unroute('**/v1/chat/completions');
  const stopped = await answers(page).last().locator('.body').innerText();
  check(stopped.length > 10, 'what was written stays');
  for (let i = 0; ; i++) { // the server stopped too
    const metrics = await (await fetch(server.url + '/metrics')).text();
    if (/^ggufx_running 0$/m.test(metrics) && /^ggufx_cancelled_total [1-9]/m.test(metrics)) break;
    check(i < 100, 'the server goes on');
    await new Promise(done => setTimeout(done, 50));
  }

  // reload
  await page.reload();
  await state(page, '^Ready');
  check(await answers(page).last().locator('.body').innerText() === stopped, 'kept in the browser');

  // conversations
  await page.click('#new');
  check(await page.locator('#log > li').count() === 0, 'a new conversation');
  await page.click('#talks-open');
  check(await page.locator('#talks li').count() === 2, 'two conversations');
  await accessible(page, 'conversations');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#export')]);
  check(JSON.parse(fs.readFileSync(await download.path(), 'utf8')).length === 2, 'export');
  await page.locator('#talks .open').nth(1).click();
  check(await page.locator('#log > li').count() === 4, 'the old one is there');
  await page.click('#talks-open');
  await page.locator('#talks button:has-text("Delete")').first().click();
  check(await page.locator('#talks li').count() === 1, 'deleted');
  await page.keyboard.press('Escape');

  // Markdown, code, reasoning: an answer that is made up
  await page.route('**/v1/chat/completions', route => {
    const delta = text => 'data: ' + JSON.stringify({ choices: [{ index: 0, delta: text, finish_reason: null }] }) + '\n\n';
    const text = '# A head\n\nSome **bold**, *slanted* and `code` <img src=x onerror=alert(1)> [link](https://example.org/a).\n\n- one\n- two\n\n```py\nprint("<b>")\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end.';
    const pieces = text.match(/[\s\S]{1,7}/g).map(piece => delta({ content: piece })).join('');
    route.fulfill({ status: 200, contentType: 'text/event-stream', body: delta({ role: 'assistant', reasoning_content: 'Let me think. So.' }) + pieces + 'data: [DONE]\n\n' });
  });
  await page.fill('#text', 'Show all');
  await page.keyboard.press('Enter');
  await state(page, '^Done');
  const body = answers(page).last().locator('.body');
  check(await body.locator('h3').innerText() === 'A head' && await body.locator('strong').innerText() === 'bold', 'Markdown');
  check(await body.locator('li').count() === 2 && await body.locator('td').count() === 2 && await body.locator('img').count() === 0, 'lists, tables, no HTML');
  check(await body.locator('a').getAttribute('href') === 'https://example.org/a', 'links');
  await body.locator('.code button').click();
  check(await page.evaluate(() => navigator.clipboard.readText()) === 'print("<b>")', 'code is copied');
  check(await answers(page).last().locator('details').isVisible() && !await answers(page).last().locator('details .text').isVisible(), 'reasoning is folded');
  await page.unroute('**/v1/chat/completions');
  await accessible(page, 'Markdown');
  await shot(page, 'markdown');

  // dark, by the system and by the switch
  await page.emulateMedia({ colorScheme: 'dark' });
  check(await page.evaluate(() => getComputedStyle(document.body).backgroundColor) === 'rgb(22, 22, 24)', 'dark by the system');
  await accessible(page, 'dark');
  await shot(page, 'dark');
  await page.click('#theme');
  check(await page.evaluate(() => getComputedStyle(document.body).backgroundColor) === 'rgb(255, 255, 255)', 'light by the switch');
  await page.click('#theme');
  await page.emulateMedia({ colorScheme: 'light' });
  check(await page.evaluate(() => getComputedStyle(document.body).backgroundColor) === 'rgb(22, 22, 24)', 'dark by the switch');

  // 320 pixels
  await page.setViewportSize({ width: 320, height: 568 });
  check(await page.evaluate(() => document.documentElement.scrollWidth) <= 320, 'nothing is wider than 320 px');
  await accessible(page, '320 px');
  await shot(page, 'narrow');
  await page.click('#metrics-open');
  await page.waitForSelector('#charts svg');
  await page.waitForTimeout(2500);
  check(await page.locator('#charts svg').count() === 8, 'charts');
  await accessible(page, 'metrics');
  await shot(page, 'metrics-narrow');
  await page.setViewportSize({ width: 1100, height: 700 });
  await shot(page, 'metrics');
  await page.keyboard.press('Escape');

  // the server is away for a while
  const port = server.port;
  await server.end();
  await page.fill('#text', 'Are you there?');
  await page.click('#go');
  await state(page, 'does not answer');
  await shot(page, 'away');
  const again = await serve(tool, [model], port);
  await state(page, '^Ready');
  await page.fill('#text', 'Once upon');
  await page.click('#go');
  await state(page, '^Done');
  assert.deepEqual(page.faults, [], 'nothing in the console');
  await again.end();
}

// a key
{
  const keys = path.join(pictures, 'keys');
  fs.writeFileSync(keys, 'a-key-of-the-test-0123\n');
  const locked = await serve(tool, [model, '--api-key-file', keys]);
  const page = await open(locked);
  await page.waitForSelector('#key-box[open]');
  await accessible(page, 'key');
  await shot(page, 'key');
  await page.fill('#key', 'a-wrong-key-0123456');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#key-box[open]');
  await page.fill('#key', 'a-key-of-the-test-0123');
  await page.keyboard.press('Enter');
  await state(page, '^Ready');
  await page.fill('#text', 'Once upon a time');
  await page.keyboard.press('Enter');
  await state(page, '^Done');
  check(!await page.evaluate(() => JSON.stringify(localStorage).includes('a-key-of-the-test')), 'the key is not kept');
  await locked.end();
}

// without scripts
{
  const plain = await serve(tool, [model]);
  const page = await open(plain, { javaScriptEnabled: false });
  check(/turned off/.test(await page.locator('body').innerText()), 'a note without scripts');
  await shot(page, 'no-scripts');
  await plain.end();
}
await browser.close();
console.log(n_checks + ' checks');
