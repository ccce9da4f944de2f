// SPDX-License-Identifier: Apache-2.0
// onnxruntime.js [--sqnr DB] MODEL OTHER... [-- INPUT=1,512 | INPUT:16000]... -
// does ONNX Runtime load each OTHER, and compute from it what it computes from
// MODEL, bit for bit, or with errors DB decibels below all outputs? An input has the sizes given, 1 for those that the model leaves
// open; its numbers are small and always the same, or the one after the colon,
// or with @page a white page with lines of black letters.
'use strict';
const ort = require('onnxruntime-node');

const ARRAYS = {
	float32: Float32Array, float64: Float64Array, int64: BigInt64Array,
	int32: Int32Array, int8: Int8Array, uint8: Uint8Array, bool: Uint8Array,
};

// Pixels of letters as far as a network that looks for text can tell.
function isInk(x, y, width) {
	const line = Math.floor(y / 32), letter = Math.floor(x / 12);
	const kind = (letter * 7 + line * 3) % 5, i = x % 12, k = y % 32;

	return k >= 8 && k < 24 && x > 20 && x < width - 20 &&
	    (i < 3 || (kind % 2 && k < 11) || (kind % 3 === 0 && k >= 21) ||
		(i >= 8 && i < 10 && kind > 2));
}

function page(dims) {
	const [height, width] = dims.slice(-2);

	return i => isInk(i % width, Math.floor(i / width) % height, width) ?
	    -2 : 2;
}

function feed(input, shapes, values, pages) {
	const dims = shapes[input.name] ||
	    input.shape.map(d => typeof d === 'number' && d > 0 ? d : 1);
	const n = dims.reduce((a, b) => a * b, 1);
	const big = input.type === 'int64';
	const data = new ARRAYS[input.type](n);
	const drawn = pages.has(input.name) ? page(dims) : null;

	for (let i = 0, x = 1; i < n; i++) {
		x = x * 48271 % 2147483647;
		const v = drawn ? drawn(i) :
		    input.name in values ? values[input.name] :
		    input.type.startsWith('float') ? x / 2147483647 - 0.5 : x % 2;
		data[i] = big ? BigInt(v) : v;
	}
	return new ort.Tensor(input.type, data, dims);
}

async function outputs(path, ...what) {
	const s = await ort.InferenceSession.create(path,
	    { logSeverityLevel: 4 });
	const feeds = {};

	for (const input of s.inputMetadata)
		feeds[input.name] = feed(input, ...what);
	const result = await s.run(feeds);
	await s.release();
	return s.outputNames.map(name => [name, result[name]]);
}

function exactly(want, got) {
	const text = all => all.map(([name, t]) => {
		const bytes = Buffer.from(t.data.buffer, t.data.byteOffset,
		    t.data.byteLength);

		return `${name} [${t.dims}] ${bytes.toString('hex')}`;
	}).join('\n');

	return text(want) === text(got) ? '' : 'other outputs';
}

function nearly(want, got, sqnr) {
	let signal = 0, noise = 0;

	for (const i of want.keys()) {
		const a = want[i][1], b = got[i][1];

		if (want[i][0] !== got[i][0] || `${a.dims}` !== `${b.dims}`)
			return 'other outputs';
		for (const k of a.data.keys()) {
			const x = Number(a.data[k]), y = Number(b.data[k]);

			signal += x * x;
			noise += (x - y) * (x - y);
		}
	}
	const db = 10 * Math.log10(signal / noise);

	console.log(`outputs: sqnr ${db.toFixed(1)} dB`);
	return signal > 0 && db >= sqnr ? '' : `sqnr below ${sqnr} dB`;
}

async function main(args) {
	const at = args.indexOf('--');
	const models = at < 0 ? args : args.slice(0, at);
	const shapes = {}, values = {}, pages = new Set();
	const sqnr = models[0] === '--sqnr' ? Number(models.splice(0, 2)[1]) : 0;
	let failed = models.length < 2;

	for (const arg of at < 0 ? [] : args.slice(at + 1)) {
		const [name, sizes] = arg.split('@')[0].split('=');

		if (arg.endsWith('@page'))
			pages.add(name);

		if (sizes)
			shapes[name] = sizes.split(',').map(Number);
		else
			values[arg.split(':')[0]] = Number(arg.split(':')[1]);
	}
	const want = await outputs(models[0], shapes, values, pages);
	for (const model of models.slice(1)) {
		try {
			const got = await outputs(model, shapes, values,
			    pages);
			const wrong = sqnr ? nearly(want, got, sqnr) :
			    exactly(want, got);

			if (!wrong)
				continue;
			console.log(`FAIL ${model}: ${wrong}`);
		} catch (error) {
			console.log(`FAIL ${model}: ${error.message}`);
		}
		failed = true;
	}
	return failed ? 1 : 0;
}

main(process.argv.slice(2)).then(status => {
	process.exitCode = status;
});
