# frozen_string_literal: true

# What a device sends under local trust, and the check of what it is offered: see docs/another_language.md.

require "securerandom"

module MaskedBandit
  # What is refused begins with its name: "n of an offer: 49, allowed: a whole number of 50 or more".
  class Refused < StandardError
    def name = message[/\A[^:]+/]
  end

  def self.refuse(name, why) = raise(Refused, "#{name}: #{why}")

  # Exact draws: whole numbers of any length, and nothing that is a floating-point number.
  class Noise
    WORD = 1 << 64

    def initialize(&page)
      @page = page || -> { SecureRandom.bytes(4096) }
      @words = []
    end

    def word
      @words = @page.call.unpack("Q<*") if @words.empty?
      @words.pop
    end

    def below(n)
      width = n > WORD ? (n.bit_length + 63) / 64 : 1
      loop do
        wide = (1..width).reduce(0) { |sum, _| (sum * WORD) + word }
        return wide % n if wide - (wide % n) <= (WORD**width) - n
      end
    end

    def coin(a, b) = below(b) < a

    def exp_coin(a, b)
      while a > b
        return false unless exp_coin(1, 1)

        a -= b
      end
      k = 1
      k += 1 while coin(a, b * k)
      k.odd?
    end

    def geometric(s, t)
      x = below(t)
      x = below(t) until exp_coin(x, t)
      x += t while exp_coin(1, 1)
      x / s
    end

    def discrete_laplace(scale)
      loop do
        negative = below(2).zero?
        x = geometric(scale.denominator, scale.numerator)
        return negative ? -x : x unless negative && x.zero?
      end
    end

    def discrete_gaussian(variance)
      p, q = variance.numerator, variance.denominator
      t = Integer.sqrt(p / q) + 1
      loop do
        y = discrete_laplace(t)
        return y if exp_coin(((y.abs * q * t) - p)**2, 2 * p * q * t * t)
      end
    end

    def round(x, steps)
      scaled = x * steps
      whole, part = scaled.numerator.divmod(scaled.denominator)
      coin(part, scaled.denominator) ? whole + 1 : whole
    end

    def response(x, epsilon)
      flip = false
      flip = exp_coin(epsilon.numerator, epsilon.denominator) while !flip && below(2) == 1
      flip ? 1 - round(x, 1) : round(x, 1)
    end
  end

  # One line of an offer, held to what the person agreed to.
  class Offer
    FIELDS = %w[channel n steps modulus noise terms position].freeze
    FORM = /\Amaskedbandit-offer-1 #{FIELDS.map { |name| "#{name}=(\\S*)" }.join(" ")}(?: metric=(\S+))?\z/
    attr_reader :n, :position, :epsilon

    def initialize(text, least:, pure:, cap: 1, metric: "")
      channel, n, steps, modulus, noise, terms, position, named = FORM.match(text)&.captures
      check("channel", channel, "Response or Local", %w[Response Local].include?(channel))
      most = channel == "Response" ? 1 : 1 << 20
      @n, @steps, @position = [["n", n], ["steps", steps], ["position", position]].map { |name, t| read(name, t) }
      check("n", n, "a whole number of #{least} or more", @n.is_a?(Integer) && @n >= least)
      check("steps", steps, "a whole number from 1 to #{most}", @steps.is_a?(Integer) && @steps.between?(1, most))
      check("position", position, "a whole number from 0 to n - 1", @position.is_a?(Integer) && @position < @n)
      check("modulus", modulus, 0, modulus == "0")
      check("metric", named, metric, named.to_s == metric)
      check_terms(terms, cap)
      check_noise(channel, noise, pure)
    end

    # What is sent in place of an outcome x from 0 to 1: the noise is drawn before x is rounded.
    def draw(x, noise)
      return noise.response(x, @epsilon) unless @kind

      z = @kind == "DiscreteLaplace" ? noise.discrete_laplace(@scale) : noise.discrete_gaussian(@scale**2)
      noise.round(x, @steps) + z
    end

    private

    def check_terms(text, cap)
      given = text.split(",").to_h { |term| term.partition(":").values_at(0, 2) }
      other = (given.keys - %w[cap epsilon]).first
      check(other, given[other], "left out", false) if other
      @epsilon = read("epsilon", given["epsilon"]).to_r
      check("epsilon", given["epsilon"], "1/1000000 or more", @epsilon >= 1/1_000_000r)
      capped = ("cap:#{cap}," if cap > 1)
      check("cap", text, "#{capped}epsilon:#{given["epsilon"]}", text == "#{capped}epsilon:#{given["epsilon"]}")
    end

    def check_noise(channel, noise, pure)
      return check("noise", noise, "none", noise.empty?) if channel == "Response"

      @scale = @steps / @epsilon
      allowed = ["DiscreteLaplace", *("DiscreteGaussian" unless pure)].map { |kind| "#{kind}:#{write(@scale)}:1" }
      check("noise", noise, allowed.join(" or "), allowed.include?(noise))
      @kind = noise[/\A\w+/]
    end

    # A whole number or a fraction, in lowest terms, without a sign or leading zeros.
    def read(name, text)
      number = Rational(text) if %r{\A[0-9]+(/0*[1-9][0-9]*)?\z}.match?(text)
      check(name, text, "a number in lowest terms", number && write(number) == text)
      number.denominator == 1 ? number.numerator : number
    end

    def write(number) = number.denominator == 1 ? number.numerator.to_s : number.to_s

    def check(name, value, allowed, fine)
      fine or MaskedBandit.refuse("#{name} of an offer", "#{value.inspect}, allowed: #{allowed}")
    end
  end

  # A place of a study, as the service hands it over, with the outcomes that are reported of it.
  class Place
    Outcome = Struct.new(:least, :most, :default, :cap)
    STUDY = /\A[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\z/

    def initialize(given, least: 1, pure: true)
      given.is_a?(Hash) or MaskedBandit.refuse("place", "no object of JSON")
      check("operators", given, !given.key?("operators"))
      { "study" => STUDY, "arm" => /./, "ticket" => /\A[0-9a-z]{1,64}\z/, "offer" => /./ }.each do |name, form|
        check(name, given, given[name].is_a?(String) && form.match?(given[name]))
      end
      check("again", given, [true, false].include?(given["again"]))
      check("exposed", given, given["exposed"].nil? || given["exposed"].is_a?(Integer))
      check("terms", given, given["terms"].is_a?(Hash) && /\A[0-9a-f]{64}\z/.match?(given["terms"]["protocol"].to_s))
      check("window", given, given["window"].is_a?(Integer) && given["window"] >= 0)
      check("grace", given, given["grace"].is_a?(Integer) && given["grace"].positive?)
      @outcomes = { "" => read_outcome(given) }
      given.fetch("further", []).each do |each|
        check("further", given, each.is_a?(Hash) && STUDY.match?(each["name"].to_s) && !@outcomes.key?(each["name"]))
        @outcomes[each["name"]] = read_outcome(each)
      end
      lines = given["offer"].split("\n", -1)
      check("offer", given, lines.size == @outcomes.size)
      @offers = lines.zip(@outcomes).map { |line, (metric, o)| Offer.new(line, least:, pure:, cap: o.cap, metric:) }
      check("offer", given, @offers.map { |offer| [offer.n, offer.position] }.uniq.size == 1)
    end

    def epsilon = @offers.sum(&:epsilon)

    # What holds of an outcome after one more value of it: the last one, or with a cap the sum so far.
    def add(metric, holds, value)
      outcome = @outcomes[metric] or MaskedBandit.refuse("metric", "#{metric.inspect}, allowed: #{@outcomes.keys}")
      fine = finite?(value) && value.to_r.between?(outcome.least, outcome.most)
      fine or MaskedBandit.refuse("value", "not shown, allowed: from #{outcome.least.to_f} to #{outcome.most.to_f}")
      outcome.cap == 1 ? value.to_r : [(holds || 0) + value.to_r, outcome.cap * outcome.most].min
    end

    # The bodies of the requests, the reward's first; `held` is what holds of the outcomes that were recorded.
    def draw(ticket, held, noise, proofs)
      @offers.zip(@outcomes, proofs).map do |offer, (metric, o), proof|
        value = offer.draw((held.fetch(metric, o.default) - o.least) / ((o.cap * o.most) - o.least), noise)
        %({"ticket":"#{ticket}","value":#{value.to_s.rjust(17)},"metric":"#{metric}","proof":"#{proof}"})
      end
    end

    private

    def read_outcome(given)
      cap = given.fetch("cap", 1)
      check("cap", given, cap.is_a?(Integer) && cap.positive? && (cap == 1 || given["least"] == 0))
      %w[least most default].each { |name| check(name, given, finite?(given[name])) }
      least, most, default = given.values_at("least", "most", "default").map(&:to_r)
      check("most", given, most > least)
      check("default", given, default.between?(least, most))
      Outcome.new(least, most, default, cap)
    end

    def finite?(value) = (value.is_a?(Integer) || value.is_a?(Float)) && value.finite?

    def check(name, given, fine)
      fine or MaskedBandit.refuse("#{name} of a place", name == "ticket" ? "not shown" : given[name].inspect)
    end
  end
end
