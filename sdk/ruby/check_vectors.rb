# frozen_string_literal: true

# The known answers of local trust, byte for byte: `ruby check_vectors.rb FOLDER_OF_VECTORS`.

require "json"
require_relative "masked_bandit_reports"
include MaskedBandit

vectors = ARGV.fetch(0)

# Noise from known pages, which counts the words that it takes.
class KnownNoise < Noise
  attr_reader :taken

  def initialize(pages)
    pages = pages.dup
    super() { pages.shift }
    @taken = 0
  end

  def word
    @taken += 1
    super
  end
end

DRAWS = {
  "below" => ->(noise, n) { noise.below(n.numerator) },
  "bernoulli" => ->(noise, p) { noise.coin(p.numerator, p.denominator) ? 1 : 0 },
  "bernoulli_exp" => ->(noise, gamma) { noise.exp_coin(gamma.numerator, gamma.denominator) ? 1 : 0 },
  "geometric" => ->(noise, rate) { noise.geometric(rate.numerator, rate.denominator) },
  "discrete_laplace" => ->(noise, scale) { noise.discrete_laplace(scale) },
  "discrete_gaussian" => ->(noise, variance) { noise.discrete_gaussian(variance) },
  "response" => ->(noise, epsilon, reward) { noise.response(reward, epsilon) },
  "round_outcome" => ->(noise, value, steps) { noise.round(value, steps.numerator) }
}.freeze

def compare(what, computed, known)
  computed == known or abort("#{what}: #{computed.inspect}, and the known answer is #{known.inspect}")
  1
end

samplers = JSON.parse(File.read(File.join(vectors, "samplers.json")))
pages = samplers["pages"].map { |page| [page].pack("H*") }
checked = Hash.new(0)

samplers["draws"].each do |entry|
  draw = DRAWS[entry["sampler"]] or next # of central trust
  noise = KnownNoise.new(pages)
  parameters = entry.except("sampler", "draws", "words").values.map { |text| Rational(text) }
  draws = entry["draws"].map { draw.call(noise, *parameters).to_s }
  checked["samplers"] += compare(entry.except("draws"), [draws, noise.taken], [entry["draws"], entry["words"]])
end

JSON.parse(File.read(File.join(vectors, "local_offers.json")))["offers"].each do |entry|
  answer = begin
    Offer.new(entry["text"], **entry.slice("least", "pure", "cap", "metric").transform_keys(&:to_sym)).epsilon
  rescue Refused => e
    e.name
  end
  known = entry.key?("epsilon") ? Rational(entry["epsilon"]) : entry["refused"]
  checked["offers"] += compare(entry, answer, known)
end

JSON.parse(File.read(File.join(vectors, "local_reports.json")))["reports"].each do |entry|
  place = Place.new(entry["place"], pure: false)
  held = entry["records"].each_with_object({}) { |(name, value), all| all[name] = place.add(name, all[name], value) }
  noise = KnownNoise.new(pages.drop(entry["first_page"]))
  bodies = place.draw(entry["place"]["ticket"], held, noise, entry["proofs"])
  checked["reports"] += compare(entry, bodies, entry["bodies"])
end

puts checked.map { |name, count| "#{name} #{count}" }.join(", ")
